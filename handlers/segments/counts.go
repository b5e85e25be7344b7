package segments

import (
	"context"
	"errors"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/audience"
)

const (
	// evaluations is the maximum number of counts and pages of people that run at a time.
	evaluations = 2
	// turnWait is how long a request waits until it may evaluate a rule.
	turnWait = 2 * time.Second
)

// CountInput asks how many people of lists match a segment or an unsaved rule.
type CountInput struct {
	TenantID  string        `json:"tenant_id" is:"uuid"`
	ListIDs   []string      `json:"list_ids" is:"required" like:"set" min:"1" max:"20" each:"uuid"`
	Rule      core.RuleText `json:"rule" about:"A condition such as {field: city, is: [Berlin]}, or a group with all, any or not"`
	SegmentID string        `json:"segment_id" is:"uuid"`
	Exact     bool          `json:"exact" about:"Count everyone, even on a large list"`
}

// JudgeKeys refuses unknown keys. A rule that is left out by mistake would count other people than the caller means.
func (in *CountInput) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[CountInput](), unknown)
}

// CheckInput checks what needs no database.
func (in *CountInput) CheckInput() error {
	if len(in.ListIDs) == 0 || len(in.ListIDs) > core.MaxCampaignLists {
		return core.Invalidf("list_ids", "list_ids must have 1 to %d entries.", core.MaxCampaignLists)
	}
	for i, id := range in.ListIDs {
		parsed, ok := core.ParseID(id)
		switch {
		case !ok:
			return core.Invalidf("list_ids", "list_ids must contain only UUIDs.")
		case slices.Contains(in.ListIDs[:i], parsed):
			return core.Invalidf("list_ids", "list_ids must not contain duplicates.")
		}
		in.ListIDs[i] = parsed
	}
	switch {
	case in.Rule == "" && in.SegmentID == "":
		return core.Invalidf("rule", "rule is missing. Send a rule or a segment_id.")
	case in.Rule != "" && in.SegmentID != "":
		return core.Invalidf("rule", "rule and segment_id can't both be set. Remove one of them.")
	}
	return nil
}

// undecided is the refusal of a rule that can't be evaluated.
var undecided = web.Clashing(core.CodeUndecided, "rule",
	"A condition can't be decided, for example because the list or campaign that it names was deleted; the field is "+
		"its JSON path")

func (r *Room) countRoutes(t *web.Table) {
	t.Add("POST", "/api/segment-count", web.Sent(core.ActionSegmentRead), web.Member,
		web.JSON(r.count).Fails(core.NotFound, core.Conflict),
		"Count the active subscribers who match a segment or an unsaved rule; coarse without people.read").
		Named("countSegment").
		Example(web.Object{
			"tenant_id": web.ExampleID, "list_ids": []string{web.ExampleID}, "rule": exampleRule,
		}).
		Refuses(saidByRule...).
		Refuses(
			web.TenantNamed, web.Refused("list_ids", "The tenant has no such list, or a list appears twice"),
			web.Refused("rule", "Neither rule nor segment_id is set, or both are"), undecided,
		)
}

func (r *Room) count(c *web.Call, in CountInput) (n core.SegmentCount, err error) {
	q := audience.Question{ListIDs: in.ListIDs, Exact: in.Exact, Now: c.Now}
	if err := r.askFor(c, &q, &in); err != nil {
		return n, err
	}
	err = r.evaluate(c, func() (err error) {
		n, err = r.Store.CountSegment(c, q)
		return err
	})
	if errors.Is(err, core.ErrListNotFound) {
		err = core.Invalidf("list_ids", "list_ids: list not found. It may have been deleted, or you don't have access.")
	}
	if err != nil || c.Caller.May(core.ActionPeopleRead, q.TenantID) {
		return n, err
	}
	return n.Coarse(), nil
}

// askFor fills in the tenant and the rule of a question, if the caller may ask it.
func (r *Room) askFor(c *web.Call, q *audience.Question, in *CountInput) (err error) {
	tenant := in.TenantID
	var saved core.Segment
	if in.SegmentID != "" {
		saved, err = r.Store.Segment(c, in.SegmentID)
		if err = web.OwnRecord(c, saved.TenantID, core.ActionSegmentRead, err, core.ErrSegmentNotFound); err != nil {
			return err
		}
		if tenant != "" && tenant != saved.TenantID {
			return core.ErrSegmentNotFound
		}
		tenant = saved.TenantID
	}
	if q.TenantID, err = web.OneTenant(c, tenant); err != nil {
		return err
	}
	if in.Rule != "" && !c.Caller.May(core.ActionSegmentWrite, q.TenantID) {
		return core.Lacking(core.ActionSegmentWrite)
	}
	if in.SegmentID != "" {
		q.Rule, err = saved.ParsedRule()
	} else {
		q.Rule, err = core.ParseRule("rule", []byte(in.Rule))
	}
	return err
}

// evaluate runs a function that evaluates a rule, once there is a turn.
func (r *Room) evaluate(c *web.Call, do func() error) error {
	wait, cancel := context.WithTimeout(c, turnWait)
	defer cancel()
	if err := r.turns.Take(wait); err != nil {
		return web.ErrBusy.With(err)
	}
	defer r.turns.End()
	return do()
}

// CoarseAudience makes the counts of a campaign's audience coarse if segments decide on it and the caller may not see
// people, and reports whether it did. Otherwise, a campaign for a segment would give away the exact size of any rule.
func CoarseAudience(caller core.Caller, tenantID string, f *core.CampaignFields, a *core.Audience) (coarse bool) {
	if !f.Segmented() || caller.May(core.ActionPeopleRead, tenantID) {
		return false
	}
	a.Coarse()
	return true
}
