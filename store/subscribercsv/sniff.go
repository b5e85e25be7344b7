package subscribercsv

import (
	"bufio"
	"bytes"
	"strings"
)

// delimiters lists the characters that can separate cells, most likely first.
const delimiters = ",;\t|"

// sniffed is the maximum number of records that are read to find the delimiter.
const sniffed = 30

// delimiter returns the delimiter of a file. It skips a first line such as "sep=;", which only names the delimiter.
// Some programs write this line for Excel.
func delimiter(r *bufio.Reader) rune {
	head, _ := r.Peek(peeked)
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	said := strings.ToLower(strings.TrimLeft(strings.TrimRight(string(line), "\r"), `"`))
	if d, ok := strings.CutPrefix(said, "sep="); ok {
		if d != "" && strings.IndexByte(delimiters+" :", d[0]) >= 0 && strings.Trim(d[1:], `",;`+"\t") == "" {
			_, _ = r.Discard(len(line)) // the end of the line stays, so that line numbers include this line
			return rune(d[0])
		}
	}
	return likeliest(head)
}

// likeliest returns the delimiter that gives the header an address column. If several do, it prefers the one that gives
// the most records as many cells as the header, and then the one that is most frequent in the header.
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

// countCells returns the first record and, for each of the first records, the number of delimiters outside quotes.
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
	if n := len(counts); n > 1 { // the last one may be cut off
		counts = counts[:n-1]
	}
	return header, counts
}
