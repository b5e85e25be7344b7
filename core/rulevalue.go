package core

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fieldValue is a value from a subscriber's preferences, prepared for comparing it in rule conditions.
type fieldValue struct {
	texts  []string // of a string, number or boolean, or of each in a list; trimmed
	exists bool     // it is not null, blank or an empty list
}

func (v *fieldValue) clear() {
	clear(v.texts)
	v.texts, v.exists = v.texts[:0], false
}

// String returns the value in the form shown to people.
func (v *fieldValue) String() string {
	if v.exists && len(v.texts) == 0 {
		return "{…}"
	}
	return strings.Join(v.texts, ", ")
}

// read parses a JSON value into v. An object counts as a value, but can't be compared with anything.
func (v *fieldValue) read(raw string) {
	if raw[0] != '[' {
		v.add(raw)
		return
	}
	var parts []json.RawMessage
	if json.Unmarshal([]byte(raw), &parts) == nil {
		for _, part := range parts {
			v.add(string(part))
		}
	}
}

func (v *fieldValue) add(raw string) {
	text, ok := scalarText(raw)
	if text = strings.TrimSpace(text); ok && text != "" {
		v.texts, v.exists = append(v.texts, text), true
	}
	if raw[0] == '{' {
		v.exists = true
	}
}

// scalarText converts a JSON string, number or boolean to a string. Numbers become plain decimals.
func scalarText(raw string) (string, bool) {
	switch raw[0] {
	case '"':
		if strings.IndexByte(raw, '\\') < 0 {
			return raw[1 : len(raw)-1], true
		}
		var text string
		err := json.Unmarshal([]byte(raw), &text)
		return text, err == nil
	case 't', 'f':
		return raw, true
	case 'n', '{', '[':
		return "", false
	}
	return plainNumber(raw), true
}

// maxExponent is the largest exponent in a value that is compared as a number.
const maxExponent = 400

// plainNumber returns a JSON number as an exact plain decimal. If the exponent exceeds maxExponent, it returns the
// number unchanged.
func plainNumber(raw string) string {
	mantissa, exponent, found := strings.Cut(strings.ToLower(raw), "e")
	if !found {
		return raw
	}
	n, err := strconv.Atoi(exponent)
	if err != nil || n < -maxExponent || n > maxExponent {
		return raw
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	point := len(whole) + n
	digits = strings.Repeat("0", max(0, -point)) + whole + fraction
	point = max(0, point)
	digits += strings.Repeat("0", max(0, point-len(digits)))
	text := cmp.Or(strings.TrimLeft(digits[:point], "0"), "0")
	if fraction = strings.TrimRight(digits[point:], "0"); fraction != "" {
		text += "." + fraction
	}
	if negative {
		text = "-" + text
	}
	return text
}

// oneOf returns a function that reports whether a string equals one of values. It ignores case, and compares numbers by
// their decimal value.
func oneOf(values []string) func(string) bool {
	known := make(map[string]struct{}, len(values))
	for _, v := range values {
		known[foldText(v)] = struct{}{}
		if isDecimal(v) {
			known[shortDecimal(v)] = struct{}{}
		}
	}
	return func(s string) bool {
		_, is := known[foldText(s)]
		if !is && isDecimal(s) {
			_, is = known[shortDecimal(s)]
		}
		return is
	}
}

// SameText reports whether rule conditions treat two strings as equal.
func SameText(a, b string) bool { return oneOf([]string{a})(b) }

// foldText removes case differences by Unicode's simple folding, and folds the Turkish İ to i.
func foldText(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, s)
		}
	}
	return strings.ToLower(s)
}

// foldRune returns a rune in lower case, or the smallest rune that differs from it only in case.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// isDecimal reports whether s is a plain decimal: digits without leading zeros, with an optional minus sign and
// fraction. "007" is not a decimal, because postal codes and phone numbers are not numbers.
func isDecimal(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole, fraction, point := strings.Cut(s, ".")
	return isDigits(whole) && (whole == "0" || whole[0] != '0') && (!point || isDigits(fraction))
}

func isDigits(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// compareDecimals compares two plain decimals exactly.
func compareDecimals(a, b string) int {
	aNegative, aWhole, aFraction := splitDecimal(a)
	bNegative, bWhole, bFraction := splitDecimal(b)
	if aNegative != bNegative {
		if aNegative {
			return -1
		}
		return 1
	}
	order := cmp.Or(cmp.Compare(len(aWhole), len(bWhole)), strings.Compare(aWhole, bWhole),
		strings.Compare(aFraction, bFraction))
	if aNegative {
		return -order
	}
	return order
}

// splitDecimal returns the parts of a plain decimal. It drops the sign of zero and the trailing zeros of the fraction.
func splitDecimal(s string) (negative bool, whole, fraction string) {
	s, negative = strings.CutPrefix(s, "-")
	whole, fraction, _ = strings.Cut(s, ".")
	fraction = strings.TrimRight(fraction, "0")
	return negative && (whole != "0" || fraction != ""), whole, fraction
}

// shortDecimal returns the shortest plain decimal with the same value.
func shortDecimal(s string) string {
	if s != "-0" && strings.IndexByte(s, '.') < 0 {
		return s
	}
	negative, text, fraction := splitDecimal(s)
	if fraction != "" {
		text += "." + fraction
	}
	if negative {
		text = "-" + text
	}
	return text
}
