package console

import (
	"cmp"
	"strings"

	"newsletterd/core"
)

// changedText describes what changed in a campaign since the visitor opened it, and who changed it.
func (p *Page) changedText(changes []core.ContentChange) string {
	text := p.T("This campaign has changed since you opened it. Review it again.")
	for i := range changes {
		one := &changes[i]
		what := p.T(changedParts[one.What])
		switch one.What {
		case core.ChangedTheme, core.ChangedLayout, core.ChangedLists, core.ChangedSegment:
			what = strings.TrimSpace(what + " " + one.Name)
		}
		who := cmp.Or(one.ByName, p.T("someone outside the team"))
		switch {
		case one.By == "":
			text += " " + what + "."
			continue
		case strings.HasPrefix(one.By, "command"):
			who = p.T("a command on the server")
		}
		text += " " + p.T("{{what}}: changed by {{who}}, {{when}}.", "what", what, "who", who, "when", p.When(one.At))
	}
	return text
}

// changedParts maps the parts of a campaign that can change to their names.
var changedParts = map[string]string{
	core.ChangedCampaign: "Campaign",
	core.ChangedTheme:    "Theme",
	core.ChangedLayout:   "Template",
	core.ChangedSettings: "Sender settings",
	core.ChangedLists:    "List",
	core.ChangedMedia:    "Images and attachments",
	core.ChangedSegment:  "Segment",
	core.ChangedPlan:     "First recipients or time",
	core.ChangedProgram:  "Email HTML",
}

// textTag returns a campaign's ETag without the part for layout and theme. Saving doesn't need that part, because it
// approves nothing.
func textTag(tag string) string {
	if revision, _, ok := strings.Cut(tag, "-"); ok {
		return revision + `"`
	}
	return tag
}
