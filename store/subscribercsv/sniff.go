package subscribercsv

import (
	"bufio"
	"bytes"
	"strings"
)

// delimiters are those that programs separate cells by, the likeliest first.
const delimiters = ",;\t|"

// sniffed is how many records of a file are looked at to tell the delimiter.
const sniffed = 30

// delimiter returns what separates the cells of a file, and skips a first line that only says so, as Excel reads and
// other programs write it ("sep=;").
func delimiter(r *bufio.Reader) rune {
	head, _ := r.Peek(peeked)
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	said := strings.ToLower(strings.TrimLeft(strings.TrimRight(string(line), "\r"), `"`))
	if d, ok := strings.CutPrefix(said, "sep="); ok {
		if d != "" && strings.IndexByte(delimiters+" :", d[0]) >= 0 && strings.Trim(d[1:], `",;`+"\t") == "" {
			_, _ = r.Discard(len(line)) // its end stays: an empty line is counted, and says nothing
			return rune(d[0])
		}
	}
	return likeliest(head)
}

// likeliest returns the delimiter by which a header has a column of addresses, then that by which most records have as
// many cells as the header, then that of which the header has most.
func likeliest(head []byte) rune {
	best, bestScore := rune(delimiters[0]), -1
	for _, d := range delimiters {
		header, counts := countCells(head, byte(d))
		if counts[0] == 0 {
			continue
		}
		same := 0
		for _, n := range counts {
			if n == counts[0] {
				same++
			}
		}
		score := same<<16/len(counts)<<12 + min(counts[0], 1<<12-1)
		for name := range strings.SplitSeq(header, string(d)) {
			if isEmailColumn(strings.Trim(name, "\"\r")) {
				score += 1 << 40
			}
		}
		if score > bestScore {
			best, bestScore = d, score
		}
	}
	return best
}

// countCells returns the first record, and how many delimiters outside of quotes each of the first records has.
func countCells(head []byte, d byte) (header string, counts []int) {
	counts = []int{0}
	quoted, begin := false, 0
	for i, b := range head {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == d:
			counts[len(counts)-1]++
		case b == '\n' && len(bytes.TrimSpace(head[begin:i])) == 0:
			begin = i + 1
		case b == '\n':
			if header == "" {
				header = string(head[begin:i])
			}
			if len(counts) == sniffed || i+1 == len(head) {
				return header, counts
			}
			counts, begin = append(counts, 0), i+1
		}
	}
	if header == "" {
		return string(head[begin:]), counts
	}
	if n := len(counts); n > 1 { // cut in the middle, maybe
		counts = counts[:n-1]
	}
	return header, counts
}
