package browsertest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
)

// unsaid are roles of elements that screen readers don't announce, or that are part of another element's name.
var unsaid = map[string]bool{
	"none": true, "generic": true, "InlineTextBox": true, "RootWebArea": true, "ListMarker": true, "LineBreak": true,
	"LayoutTable": true, "LayoutTableRow": true, "LayoutTableCell": true,
}

// named are roles whose name is their text content.
var named = map[string]bool{
	"heading": true, "link": true, "button": true, "option": true, "LabelText": true, "tab": true, "menuitem": true,
	"DisclosureTriangle": true, "cell": true, "columnheader": true, "SvgRoot": true,
}

// Outline returns the accessibility tree of the page, one line per element: its role, name and value, indented by
// depth.
func (b *Browser) Outline() (lines []string) {
	b.Helper()
	call(b, accessibility.Enable, cdp.Empty{})
	nodes := call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	byID := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range nodes {
		byID[n.NodeID] = n
	}
	var walk func(n *accessibility.Node, depth int)
	walk = func(n *accessibility.Node, depth int) {
		role, name, value := said(n.Role), said(n.Name), said(n.Value)
		if !n.Ignored && !unsaid[role] && (role != "StaticText" || strings.TrimSpace(name) != "") {
			line := strings.Repeat("  ", depth) + role
			if name != "" {
				line += fmt.Sprintf(" %q", name)
			}
			if value != "" {
				line += fmt.Sprintf(" = %q", value)
			}
			lines = append(lines, line)
			depth++
		}
		if named[role] && name != "" || role == "Iframe" {
			return
		}
		for _, id := range n.ChildIDs {
			if child := byID[id]; child != nil {
				walk(child, depth)
			}
		}
	}
	if len(nodes) > 0 {
		walk(nodes[0], 0)
	}
	return lines
}

// said returns the text of an accessibility value.
func said(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v.Value)
	var text string
	if err != nil || json.Unmarshal(b, &text) != nil {
		return strings.Trim(string(b), `"`)
	}
	return strings.Join(strings.Fields(text), " ")
}
