package campaigns

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/markup"
	"newsletterd/store/campaigns"
)

// campaignTag is the content of a campaign's ETag (RFC 9110 section 8.8.3). It contains the revision and, until the
// campaign is approved, the digest of what an approval would cover. The digest also depends on the layout and the
// theme.
type campaignTag struct {
	Revision int64
	Digest   core.Digest // empty: the campaign is frozen or can't be compiled
}

func (t campaignTag) String() string {
	if t.Digest == "" {
		return strconv.FormatInt(t.Revision, 10)
	}
	return strconv.FormatInt(t.Revision, 10) + "-" + string(t.Digest)
}

// parseTag parses the output of String. For any other text, it returns a tag that no campaign has.
func parseTag(text string) campaignTag {
	revision, digest, _ := strings.Cut(text, "-")
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil || n <= 0 {
		return campaignTag{Revision: -1}
	}
	return campaignTag{n, core.Digest(digest)}
}

// tagOf returns a campaign's tag. It compiles the campaign to do so.
func (a campaignsAPI) tagOf(c *web.Call, of *core.Campaign) (t campaignTag, err error) {
	t.Revision = of.Revision
	if !of.Written() {
		return t, nil
	}
	d, err := a.Store.Draft(c, of, 0, markup.CampaignParts, c.Now)
	if core.KindOf(err) == core.Invalid { // the campaign can't be approved in this state
		err = nil
	}
	t.Digest = d.Digest
	return t, err
}

func (a campaignsAPI) setTag(c *web.Call, of *core.Campaign) error {
	t, err := a.tagOf(c, of)
	if err == nil {
		c.Header().Set("ETag", `"`+t.String()+`"`)
	}
	return err
}

// edit returns an edit of the campaign in the path, with the tag from If-Match. If required is true, a missing tag is
// an error. A tag without a digest doesn't cover the layout and the theme, so it allows only changes that approve
// nothing.
func (a campaignsAPI) edit(c *web.Call, ifMatch *string, required bool) (e campaigns.CampaignEdit, err error) {
	now := a.found(c)
	e = campaigns.CampaignEdit{ID: now.ID, Actor: web.Actor(c), Now: c.Now}
	switch {
	case ifMatch == nil && required:
		return e, &core.Error{Kind: core.PreconditionRequired, Field: "If-Match"}
	case ifMatch == nil || strings.TrimSpace(*ifMatch) == "*":
		return e, nil
	}
	e.Revision = -1 // no campaign has this revision
	for _, t := range tagsOf(*ifMatch) {
		if t.Revision == now.Revision {
			e.Revision, e.Seen = t.Revision, t.Digest
		}
	}
	if e.Seen == "" {
		return e, nil
	}
	return e, a.sameContent(c, now, e.Seen)
}

// tagsOf parses the tags in If-Match.
func tagsOf(ifMatch string) (all []campaignTag) {
	for text := range strings.SplitSeq(ifMatch, ",") {
		text, quoted := strings.CutPrefix(strings.TrimSpace(text), `"`)
		text, ended := strings.CutSuffix(text, `"`)
		if quoted && ended {
			all = append(all, parseTag(text))
		}
	}
	return all
}

// sameAgain reports whether an approval would cover the same content as one of tags, which belong to older revisions.
// If so, it sets e's revision to the current one, so that an undone change doesn't count.
func (a campaignsAPI) sameAgain(c *web.Call, of *core.Campaign, e *campaigns.CampaignEdit, tags []campaignTag) (bool, error) {
	older := func(t campaignTag) bool { return t.Revision > 0 && t.Revision < of.Revision && t.Digest != "" }
	if !of.Written() || !slices.ContainsFunc(tags, older) {
		return false, nil
	}
	now, err := a.tagOf(c, of)
	if err != nil {
		return false, err
	}
	same := slices.ContainsFunc(tags, func(t campaignTag) bool { return older(t) && t.Digest.Same(now.Digest) })
	if same {
		e.Revision, e.Seen = now.Revision, now.Digest
	}
	return same, nil
}

// sameContent returns an error with the changes if the content to send differs from the content that the caller has
// seen, even if the revision is the same.
func (a campaignsAPI) sameContent(c *web.Call, of *core.Campaign, seen core.Digest) error {
	now, err := a.tagOf(c, of)
	if err != nil || seen.Same(now.Digest) {
		return err
	}
	return a.changed(c, of, seen, now.Digest)
}

// changed returns the error for a campaign whose content differs from what the caller has seen.
func (a campaignsAPI) changed(c *web.Call, of *core.Campaign, seen, now core.Digest) error {
	_, fields, err := a.Store.CampaignVersion(c, of, 0)
	if err != nil {
		return err
	}
	changes, err := a.Store.ContentChanges(c, of, &fields, seen.Changed(now))
	if err != nil {
		return err
	}
	return a.hideOutsiders(c, of.TenantID, core.ChangedContent(changes))
}

// named adds the names of the people who changed the campaign in the meantime to err.
func (a campaignsAPI) named(c *web.Call, err error) error {
	if core.KindOf(err) != core.PreconditionFailed {
		return err
	}
	return a.nameChanges(c, a.found(c), err)
}

// nameChanges is like named, for a campaign other than the one in the path.
func (a campaignsAPI) nameChanges(c *web.Call, of *core.Campaign, err error) error {
	fault, ok := errors.AsType[*core.Error](err)
	if !ok || fault.Kind != core.PreconditionFailed {
		return err
	}
	out := *fault
	out.Changes = slices.Clone(fault.Changes)
	for i := range out.Changes {
		one := &out.Changes[i]
		if one.What != core.ChangedCampaign {
			return err
		}
		name, unknown := a.nameOf(c, one.By)
		if unknown != nil {
			return unknown
		}
		one.ID, one.Name, one.ByName = of.ID, of.Name, name
	}
	return a.hideOutsiders(c, of.TenantID, &out)
}

// hideOutsiders removes the names of people outside the team from e.
func (a campaignsAPI) hideOutsiders(c *web.Call, tenant string, e *core.Error) error {
	outside, err := web.Outsiders(c, tenant)
	if err != nil {
		return err
	}
	for i := range e.Changes {
		if outside(e.Changes[i].By) {
			e.Changes[i].ByName = ""
		}
	}
	return e
}

// mayApprove checks the rules of tenants that require approval by a second person. The approver must not be the writer
// and must send the tag of the content that they have seen.
func (a campaignsAPI) mayApprove(c *web.Call, t *core.Tenant, ifMatch *string) error {
	of := a.found(c)
	if !t.AsksSecondPerson() || !of.Written() {
		return nil
	}
	by, err := a.Store.Acting(c, web.Actor(c))
	if err == nil {
		err = t.Accepts(of, by...)
	}
	if err != nil {
		return err
	}
	if ifMatch == nil || strings.TrimSpace(*ifMatch) == "*" {
		return &core.Error{
			Kind: core.PreconditionRequired, Field: "If-Match",
			Message: "If-Match is missing. Send the ETag of the campaign that you reviewed, so that you approve " +
				"exactly that version.",
		}
	}
	return nil
}
