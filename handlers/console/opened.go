package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
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

// has reports whether a change would leave a campaign as it is.
func (c *campaignPage) has(change map[string]any) bool {
	then := c.clone()
	then.overlay(change)
	return then.same(c)
}

// same reports whether two campaigns have equal content.
func (c *campaignPage) same(other *campaignPage) bool {
	return c.Name == other.Name && c.Subject == other.Subject && c.Preheader == other.Preheader &&
		c.Content == other.Content && c.FromName == other.FromName && c.FromEmail == other.FromEmail &&
		c.ReplyTo == other.ReplyTo &&
		c.Language == other.Language && c.Tracking == other.Tracking && c.Theme == other.Theme &&
		slices.Equal(c.ListIDs, other.ListIDs) && slices.Equal(c.ExcludeListIDs, other.ExcludeListIDs) &&
		c.SegmentID == other.SegmentID && slices.Equal(c.ExcludeSegmentIDs, other.ExcludeSegmentIDs) &&
		slices.Equal(c.TestAddresses, other.TestAddresses) && c.Archived() == other.Archived()
}
