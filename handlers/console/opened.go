package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"newsletterd/core"
)

// part returns a digest of what a tab's form changes: "settings", "polls", or the content. The digest also depends on
// whether the campaign is approved, because a change withdraws the approval.
func (c *campaignPage) part(tab string) string {
	part := []any{c.Subject, c.Preheader, c.Content}
	switch tab {
	case "settings":
		part = []any{
			c.Name, c.FromName, c.FromEmail, c.ReplyTo, c.Language, c.Tracking, c.Theme, c.ListIDs, c.ExcludeListIDs,
			c.SegmentID, c.ExcludeSegmentIDs, c.TestAddresses, c.Archived(),
		}
	case "polls":
		part = []any{c.Polls}
	}
	b, err := json.Marshal(append(part, c.State == core.CampaignApproved))
	if err != nil {
		return "?" // never happens: all of it is text
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// openedAs returns the value of "revision" in a tab's form: the campaign's ETag, and the digest of the part that the
// form changes.
func (c *campaignPage) openedAs(tab string) string {
	if c.opened != "" {
		return c.opened
	}
	return c.Revision + " " + c.part(tab)
}

// since returns the ETag with which a form can be saved. revision is the form's value. If only other parts of the
// campaign have changed since the form was opened, that is the current ETag.
func (c *campaignPage) since(revision, tab string) string {
	tag, was, ok := strings.Cut(revision, " ")
	if ok && was == c.part(tab) {
		tag = c.Revision
	}
	return textTag(tag)
}

// Opened returns the value of "revision" in the editor's form.
func (d *editorData) Opened() string {
	if d.Settings {
		return d.openedAs("settings")
	}
	return d.openedAs("")
}

// Opened returns the value of "revision" in the poll forms.
func (d *pollsData) Opened() string { return d.openedAs("polls") }
