package markup

import (
	"encoding/json"
	"errors"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// Placed converts an error in the output of Compile. It replaces the position in the HTML or text part with that in the
// source: line and column of Markdown, or block and line of blocks. If the position in the source is unknown, Placed
// returns the error unchanged.
func Placed(kind, source string, err error) error {
	fault, ok := errors.AsType[*mail.TemplateError](err)
	if !ok || fault.Placeholder == "" || fault.Field != "body_html" && fault.Field != "body_text" {
		return err
	}
	switch kind {
	case KindMarkdown:
		at := placeOf(source, fault.Placeholder, fault.Later)
		if at < 0 {
			return err
		}
		placed := *fault
		placed.Field, placed.Line = "content.source", lineAt(source, at)
		placed.Col = 1 + len([]rune(source[strings.LastIndexByte(source[:at], '\n')+1:at]))
		return placed.Invalid()
	case KindBlocks:
		if n := blockOf(source, fault.Placeholder, fault.Later); n > 0 {
			e := core.Invalidf("content.source", "block %d: %s", n, fault.Problem)
			e.Block, e.Line, e.Err = n, lineOfBlock(source, n), err
			return e
		}
	}
	return err
}

// placeOf returns the byte offset of the occurrence of text in source that is followed by the given number of later
// ones. If there are too few, it returns the offset of the first. If there are none, it returns -1.
func placeOf(source, text string, later int) int {
	at := strings.Index(source, text)
	for n := strings.Count(source, text) - 1 - later; n > 0; n-- {
		from := at + len(text)
		at = from + strings.Index(source[from:], text)
	}
	return at
}

// blockOf returns the number of the outermost block that contains the occurrence that placeOf would find. Numbers start
// at 1; 0 means none.
func blockOf(source, text string, later int) int {
	counts, all := []int{}, 0
	for _, b := range outermost(source) {
		var block any
		n := 0
		if json.Unmarshal(b.raw, &block) == nil {
			n = occurrences(block, text)
		}
		counts, all = append(counts, n), all+n
	}
	for i, nth := 0, max(all-1-later, 0); i < len(counts); i++ {
		if nth < counts[i] {
			return i + 1
		}
		nth -= counts[i]
	}
	return 0
}

// occurrences counts how often text occurs in the strings of a JSON value.
func occurrences(v any, text string) (n int) {
	switch v := v.(type) {
	case string:
		return strings.Count(v, text)
	case []any:
		for _, e := range v {
			n += occurrences(e, text)
		}
	case map[string]any:
		for _, e := range v {
			n += occurrences(e, text)
		}
	}
	return n
}

// rawBlock is an outermost block of a source, with the offset after its end.
type rawBlock struct {
	raw json.RawMessage
	end int
}

// outermost returns a source's outermost blocks, up to the first malformed one.
func outermost(source string) (all []rawBlock) {
	dec := json.NewDecoder(strings.NewReader(source))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil
		}
		if key != "blocks" {
			var other json.RawMessage
			if dec.Decode(&other) != nil {
				return nil
			}
			continue
		}
		if t, err := dec.Token(); err != nil || t != json.Delim('[') {
			return nil
		}
		for dec.More() {
			var b rawBlock
			if dec.Decode(&b.raw) != nil {
				return all
			}
			b.end = int(dec.InputOffset())
			all = append(all, b)
		}
		return all
	}
	return nil
}

// lineOfBlock returns the line where an outermost block starts. Both numbers start at 1; 0: no such block.
func lineOfBlock(source string, n int) int {
	if all := outermost(source); n >= 1 && n <= len(all) {
		b := all[n-1]
		return lineAt(source, b.end-len(b.raw))
	}
	return 0
}

// inBlock adds the position of the current block to an error from reading blocks.
func (d *document) inBlock(source string, err error) error {
	if fault, ok := errors.AsType[*core.Error](err); ok && d.block > 0 {
		placed := *fault
		placed.Block, placed.Line = d.block, lineOfBlock(source, d.block)
		return &placed
	}
	return err
}

// lineAt returns the line number of the byte at offset at. Lines start at 1.
func lineAt(text string, at int) int { return 1 + strings.Count(text[:min(at, len(text))], "\n") }

// onLine returns an error with its line set.
func onLine(line int, e *core.Error) *core.Error {
	e.Line = line
	return e
}
