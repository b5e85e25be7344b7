package console

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// Chart sizes, in units of the viewBox.
const (
	chartWidth, chartHeight = 640, 240
	chartLeft, chartBottom  = 52, 24
	chartTop, chartRight    = 12, 8
	halfHeight              = 150
)

// chart is an SVG chart with a table of the same figures as a text alternative.
type chart struct {
	SVG        template.HTML
	Heads      []string
	Table      [][]string
	TableLabel string
	Keys       []string // names of the two kinds of bars
}

// lineChart returns a chart of values over time. Labels appear below the chart where there is room.
func (p *Page) lineChart(title string, labels []string, values []int64) chart {
	c := chart{TableLabel: p.T("View as table"), Heads: []string{"", title}}
	for i, label := range labels {
		c.Table = append(c.Table, []string{label, p.Number(values[i])})
	}
	if len(values) == 0 {
		return c
	}
	s := newLineScale(values)
	var line strings.Builder
	for i, v := range values {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&line, "%s%.1f %.1f", command, s.x(i, len(values)), s.y(float64(v)))
	}
	last := len(values) - 1
	var b strings.Builder
	p.openChart(&b, title, s, labels)
	fmt.Fprintf(&b, `<path class="area" d="%sL%.1f %.1fL%.1f %.1fZ"/>`, line.String(), s.x(last, len(values)), s.bottom,
		s.x(0, len(values)), s.bottom)
	fmt.Fprintf(&b, `<path class="line" d="%s"/>`, line.String())
	fmt.Fprintf(&b, `<circle class="dot" cx="%.1f" cy="%.1f" r="3.5"/></svg>`, s.x(last, len(values)),
		s.y(float64(values[last])))
	c.SVG = template.HTML(b.String()) //nolint:gosec // numbers, and escaped labels
	return c
}

// series holds the values for one kind of bar in a chart.
type series struct {
	Name   string
	Values []int64
}

// barsOf returns a bar chart with one or two bars per label, half as high as other charts. long holds the labels for
// its table.
func (p *Page) barsOf(title string, labels, long []string, all ...series) chart {
	c := chart{TableLabel: p.T("View as table"), Heads: []string{""}}
	var values []int64
	for _, s := range all {
		c.Heads, values = append(c.Heads, s.Name), append(values, s.Values...)
	}
	if len(all) > 1 {
		c.Keys = c.Heads[1:]
	}
	for i, label := range long {
		row := []string{label}
		for _, s := range all {
			row = append(row, p.Number(s.Values[i]))
		}
		c.Table = append(c.Table, row)
	}
	if len(values) == 0 {
		return c
	}
	s := newScale(values, halfHeight)
	var b strings.Builder
	p.openChart(&b, title, s, labels)
	slot := float64(chartWidth-chartLeft-chartRight) / float64(len(labels))
	width := math.Max(1, math.Min(18, slot*.7/float64(len(all))))
	for n := range all {
		class := "bar"
		if n > 0 {
			class = "bar second"
		}
		for i, v := range all[n].Values {
			if v == 0 {
				continue
			}
			x := chartLeft + slot*(float64(i)+.5) + width*(float64(n)-float64(len(all))/2)
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="1.5"/>`, class, x,
				s.y(float64(v)), width, s.y(0)-s.y(float64(v)))
		}
	}
	b.WriteString("</svg>")
	c.SVG = template.HTML(b.String()) //nolint:gosec // numbers, and escaped labels
	return c
}

// openChart writes the start of a chart: the title, the grid lines and the labels.
func (p *Page) openChart(b *strings.Builder, title string, s scale, labels []string) {
	fmt.Fprintf(b, `<svg class="chart" viewBox="0 0 %d %.0f" role="img" aria-label="%s">`, chartWidth,
		s.height+chartTop+chartBottom, template.HTMLEscapeString(title))
	for v := s.base; v <= s.top+s.step/2; v += s.step {
		y := s.y(v)
		fmt.Fprintf(b, `<line class="axis" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, chartLeft, y, chartWidth-chartRight, y)
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, chartLeft-8, y+4, p.short(int64(v)))
	}
	const room = 7
	every := max(1, (len(labels)+room-1)/room)
	slot := float64(chartWidth-chartLeft-chartRight) / float64(max(1, len(labels)))
	for i := 0; i < len(labels); i += every {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, chartLeft+slot*(float64(i)+.5),
			int(s.height)+chartTop+chartBottom-4, template.HTMLEscapeString(labels[i]))
	}
}

// short formats a number on an axis: 12,000 becomes 12k.
func (p *Page) short(n int64) string {
	switch {
	case n >= 1_000_000 && n%100_000 == 0:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
	case n >= 10_000 && n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return p.Number(n)
}

// scale converts values to positions in a chart.
type scale struct {
	base, top, step             float64
	left, width, bottom, height float64
}

// newScale returns a scale for a chart of the given height. It extends from 0 to a round number above all values, and
// has two to five lines.
func newScale(values []int64, height float64) scale {
	most := 1.0
	for _, v := range values {
		most = math.Max(most, float64(v))
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for most/step < 2 {
		step /= 2
	}
	lines := 5.0
	if height < chartHeight {
		lines = 2.5
	}
	for most/step > lines {
		step *= 2
	}
	step = math.Max(1, step)
	return scale{
		0, math.Ceil(most/step) * step, step, chartLeft, chartWidth - chartLeft - chartRight, height - chartBottom,
		height - chartBottom - chartTop,
	}
}

// newLineScale returns the scale of a line chart. It starts at a round number below the values, so that changes are
// visible.
func newLineScale(values []int64) scale {
	least := slices.Min(values)
	above := make([]int64, len(values))
	for i, v := range values {
		above[i] = v - least
	}
	s := newScale(above, chartHeight)
	s.base = math.Floor(float64(least)/s.step) * s.step
	s.top = math.Ceil(float64(slices.Max(values))/s.step) * s.step
	if s.top == s.base {
		s.top += s.step
	}
	return s
}

func (s scale) x(i, n int) float64 {
	return s.left + s.width*(float64(i)+.5)/float64(max(1, n))
}

func (s scale) y(v float64) float64 { return s.bottom - s.height*(v-s.base)/(s.top-s.base) }
