package demo

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// checks holds the figures that the demo counts, each with its expected value.
type checks []check

type check struct {
	what      string
	got, want int
}

// equal adds a figure with its expected value. It replaces an earlier figure that has the same name and expected value.
func (c *checks) equal(what string, got, want int) {
	*c = append(slices.DeleteFunc(*c, func(old check) bool { return old.what == what && old.got == old.want }),
		check{what, got, want})
}

// off returns the number of figures that differ from their expected value.
func (c checks) off() (n int) {
	for _, one := range c {
		if one.got != one.want {
			n++
		}
	}
	return n
}

func (c checks) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\n   FIGURE\tIS\tMUST BE\t")
	for _, one := range c {
		mark := "ok"
		if one.got != one.want {
			mark = "OFF"
		}
		fmt.Fprintf(w, "   %s\t%d\t%d\t%s\n", one.what, one.got, one.want, mark)
	}
	_ = w.Flush()
}
