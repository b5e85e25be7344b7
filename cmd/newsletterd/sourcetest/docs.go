package sourcetest

import (
	"fmt"
	"regexp"
	"strings"
)

// maxWords is the maximum number of words in a documentation sentence.
const maxWords = 30

var (
	inlineCode  = regexp.MustCompile("`[^`]*`")
	markdownURL = regexp.MustCompile(`\]\([^)\s]*\)`)
	blockStart  = regexp.MustCompile(`^\s*([*+-]|\d+\.|\[\^[\w-]+\]:|>)\s+`)
	sentenceEnd = regexp.MustCompile(`[.!?]["”)*_]*(\s+|$)`)
	partOfCell  = regexp.MustCompile(`[.!?;]["”)*_]*(\s+|$)`)
	hasWord     = regexp.MustCompile(`[\pL\pN]`)
	headless    = regexp.MustCompile(`(?i)^[\s*_"“(]*(who|whom|whose|whoever|what|whatever)\b[^'’]`)
)

// DocFaults returns the faulty sentences in Markdown: those with more than 30 words, and those that start with "who" or
// "what" and are not questions. It skips code and headings. It reads table cells separately, and there a semicolon also
// ends a sentence. The faults name path.
func DocFaults(path, text string) (faults []string) {
	check := func(line int, block string, end *regexp.Regexp) {
		block = markdownURL.ReplaceAllString(inlineCode.ReplaceAllString(block, "code"), "]")
		for block = strings.TrimSpace(block); block != ""; {
			sentence := block
			if at := end.FindStringIndex(block); at != nil {
				sentence = block[:at[1]]
			}
			block = strings.TrimSpace(block[len(sentence):])
			sentence = strings.Join(strings.Fields(sentence), " ")
			words := 0
			for word := range strings.FieldsSeq(sentence) {
				if hasWord.MatchString(word) {
					words++
				}
			}
			if words > maxWords {
				faults = append(faults, fmt.Sprintf("%s:%d: %d words, more than %d: %s", path, line, words, maxWords, sentence))
			}
			if headless.MatchString(sentence+" ") && !strings.Contains(sentence, "?") {
				faults = append(faults, fmt.Sprintf("%s:%d: starts with no noun: %s", path, line, sentence))
			}
		}
	}
	block, first, code := "", 0, false
	flush := func() {
		check(first, block, sentenceEnd)
		block = ""
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			code = !code
		case code:
		case line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "<!--"):
			flush()
		case strings.HasPrefix(line, "|"):
			flush()
			for cell := range strings.SplitSeq(strings.ReplaceAll(line, `\|`, " "), "|") {
				check(n, cell, partOfCell)
			}
		default:
			if mark := blockStart.FindString(line); mark != "" {
				flush()
				line = line[len(mark):]
			}
			if block == "" {
				first = n
			}
			block += line + "\n"
		}
	}
	flush()
	return faults
}
