package article

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"newsletterd/mail/htmlclean"
)

// anchorMark is the prefix that ids in old posts get, so that they differ from ids in the surrounding page.
const anchorMark = "text-"

// OldPost converts another tool's post to clean HTML. Footnotes and other links within the post still work. The tool's
// signup forms, subscribe buttons and share buttons are removed. OldPost returns an error if the post is nested too
// deeply.
func OldPost(page string) (string, error) {
	body, err := parse(htmlclean.Post(page))
	if err != nil {
		return "", err
	}
	out := map[*html.Node]bool{}
	findSignups(body, false, needsOldTool, out)
	remove(body, out)
	known := map[string]bool{}
	for n := range body.Descendants() {
		id := attribute(n, "id")
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
			return a.Key == "class" || a.Key == "id" && known[id]
		})
		if id != "" && !known[id] {
			known[id] = true
			set(n, "id", anchorMark+id)
		}
	}
	for n := range body.Descendants() {
		name, within := strings.CutPrefix(attribute(n, "href"), "#")
		if !within {
			continue
		}
		if id, err := url.PathUnescape(name); err == nil && known[id] {
			set(n, "href", "#"+anchorMark+id)
		} else {
			n.Attr = slices.DeleteFunc(n.Attr, isTarget)
		}
	}
	return write(body)
}

// findSignups finds the Substack or Ghost signup forms within n, and elements that contain only buttons that need the
// other tool. It adds them to out. inside is true if n is in an element with buttons. kept reports whether n is or
// contains a button that doesn't need the other tool.
func findSignups(n *html.Node, inside bool, needs func(address string) bool, out map[*html.Node]bool) (kept bool) {
	classes := strings.Fields(attribute(n, "class"))
	if hasAny(classes, "subscription-widget-wrap", "subscription-widget-wrap-editor", "subscription-widget",
		"kg-signup-card") {
		out[n] = true
		return false
	}
	buttons := hasAny(classes, "button-wrapper", "captioned-button-wrap", "kg-button-card")
	inside = inside || buttons
	kept = inside && n.DataAtom == atom.A && !needs(attribute(n, "href"))
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if findSignups(k, inside, needs, out) {
			kept = true
		}
	}
	if buttons && !kept {
		out[n] = true
	}
	return kept
}

func hasAny(classes []string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(classes, name) })
}

// needsOldTool reports whether a button's link leads to a Substack or Ghost form or dialog. Other sites can have pages
// with the same names as Substack's.
func needsOldTool(address string) bool {
	u, err := url.Parse(address)
	if err != nil || address == "" || strings.HasPrefix(u.Fragment, "/portal") || u.Query().Get("action") == "share" {
		return true
	}
	host := strings.ToLower(u.Hostname())
	return (host == "" || host == "substack.com" || strings.HasSuffix(host, ".substack.com")) &&
		slices.Contains([]string{"subscribe", "comments"}, path.Base(u.Path))
}
