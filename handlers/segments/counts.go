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
	// evaluations is the maximum number of concurrent requests that evaluate a rule to count or list people.
	evaluations = 2
	// turnWait is the maximum time that a request waits for its turn to evaluate a rule.
	turnWait = 2 * time.Second
)

// segmentCountRequest is the body of a request to count the people on lists who match a segment or an unsaved rule.
type segmentCountRequest struct {
	TenantID  string        `json:"tenant_id" is:"uuid"`
	ListIDs   []string      `json:"list_ids" is:"required" like:"set" min:"1" max:"20" each:"uuid"`
	Rule      core.RuleText `json:"rule"`
	SegmentID string        `json:"segment_id" is:"uuid"`
	Exact     bool          `json:"exact" about:"Count everyone, even on a large list"`
}

// JudgeKeys rejects unknown keys. Otherwise, a misspelled key would drop the rule, and the count would include
// unintended people.
func (in *segmentCountRequest) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[segmentCountRequest](), unknown)
}

// CheckInput performs the checks that don't need the database.
func (in *segmentCountRequest) CheckInput() error {
	if len(in.ListIDs) == 0 || len(in.ListIDs) > core.MaxCampaignLists {
		return core.Invalidf("list_ids", "list_ids must have 1 to %d entries.", core.MaxCampaignLists)
	}
	for i, id := range in.ListIDs {
		parsed, ok := core.ParseID(id)
		switch {
		case !ok:
			return core.Invalidf("list_ids", "list_ids must contain only UUIDs.")
		case slices.Contains(in.ListIDs[:i], parsed):
			return core.Invalidf("list_ids", "list_ids contains duplicates. Remove them.")
		}
		in.ListIDs[i] = parsed
	}
	return CheckOne(in.Rule, in.SegmentID)
}

// CheckOne returns an error if a request has neither a rule nor a segment, or both.
func CheckOne(rule core.RuleText, segmentID string) error {
	switch {
	case rule == "" && segmentID == "":
		return core.Invalidf("rule", "rule is missing. Send a rule or a segment_id.")
	case rule != "" && segmentID != "":
		return core.Invalidf("rule", "rule and segment_id can't both be set. Remove one of them.")
	}
	return nil
}

// RuleOrSegment holds the OpenAPI limits for a body with either a rule or a segment.
var RuleOrSegment = web.Object{
	"additionalProperties": false, "not": web.Object{"anyOf": []web.Object{
		{"required": []string{"rule", "segment_id"}},
		{"not": web.Object{"anyOf": []web.Object{
			{"required": []string{"rule"}}, {"required": []string{"segment_id"}},
		}}},
	}},
}

// Refusals holds the OpenAPI refusals for requests with a rule or a segment.
var Refusals = append([]web.Refusal{
	web.Refused("rule", "None or both of rule and segment_id are set"), undecided,
}, saidByRule...)

// undecided is the OpenAPI refusal for a rule that can't be evaluated.
var undecided = web.Clashing(core.CodeUndecided, "rule",
	"A condition can't be evaluated, for example because the list or campaign that it names was deleted; the field is "+
		"its JSON path")

func (r *Room) countRoutes(t *web.Table) {
	t.Add("POST", "/api/segment-count", web.Sent(core.ActionSegmentRead), web.Member,
		web.JSON(r.count).Fails(core.NotFound, core.Conflict),
		"Count the active subscribers who match a segment or an unsaved rule; coarse without people.read").
		Named("countSegment").
		Limits(RuleOrSegment).
		Example(web.Object{
			"tenant_id": web.ExampleID, "list_ids": []string{web.ExampleID}, "rule": ExampleRule,
		}).
		Refuses(Refusals...).
		Refuses(
			web.TenantNamed, web.Refused("list_ids", "The tenant has no such list, or a list appears twice"),
		)
}

func (r *Room) count(c *web.Call, in segmentCountRequest) (n core.SegmentCount, err error) {
	q := audience.Question{ListIDs: in.ListIDs, Exact: in.Exact, Now: c.Now}
	if err := r.askFor(c, &q, &in); err != nil {
		return n, err
	}
	err = r.Evaluate(c, false, func() (err error) {
		n, err = r.Store.CountSegment(c, q)
		return Unsaved(in.Rule, err)
	})
	if errors.Is(err, core.ErrListNotFound) {
		err = core.Invalidf("list_ids", "list_ids: list not found. It may have been deleted, or you don't have access.")
	}
	if err != nil || c.Caller.May(core.ActionPeopleRead, q.TenantID) {
		return n, err
	}
	return n.Coarse(), nil
}

// askFor sets q's tenant and rule to those of the request. It returns an error if the caller may not use them.
func (r *Room) askFor(c *web.Call, q *audience.Question, in *segmentCountRequest) (err error) {
	q.TenantID, q.Rule, err = r.RuleFor(c, in.TenantID, in.Rule, in.SegmentID)
	return err
}

// RuleFor returns the tenant and the rule of a request. The rule is the segment's, or the unsaved rule in text. If the
// caller may not use the rule in that tenant, it returns an error.
func (r *Room) RuleFor(c *web.Call, tenant string, text core.RuleText, segmentID string) (_ string, rule *core.Rule,
	err error,
) {
	var saved core.Segment
	if segmentID != "" {
		saved, err = r.Store.Segment(c, segmentID)
		if err = web.OwnRecord(c, saved.TenantID, core.ActionSegmentRead, err, core.ErrSegmentNotFound); err != nil {
			return "", nil, err
		}
		if tenant != "" && tenant != saved.TenantID {
			return "", nil, core.ErrSegmentNotFound
		}
		tenant = saved.TenantID
	}
	if tenant, err = web.OneTenant(c, tenant); err != nil {
		return "", nil, err
	}
	if segmentID != "" {
		rule, err = saved.ParsedRule()
		return tenant, rule, err
	}
	if !c.Caller.May(core.ActionSegmentWrite, tenant) {
		return "", nil, core.Lacking(core.ActionSegmentWrite)
	}
	if rule, err = core.ParseRule("rule", []byte(text)); err == nil {
		err = rule.CheckIDs("rule")
	}
	return tenant, rule, err
}

// Unsaved rewords an error about an unsaved rule so that it doesn't mention a segment. If rule is empty, the error is
// about a saved segment, and Unsaved returns it unchanged.
func Unsaved(rule core.RuleText, err error) error {
	if rule == "" {
		return err
	}
	return core.UnsavedRule(err)
}

// Evaluate waits for a turn and calls do, which evaluates a rule. If there is no turn within turnWait, it returns
// web.ErrBusy. For a later page, it waits as long as the client does, because the first page may already have been
// sent.
func (r *Room) Evaluate(c *web.Call, later bool, do func() error) error {
	wait := context.Context(c)
	if !later {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(c, turnWait)
		defer cancel()
	}
	if err := r.turns.Take(wait); err != nil {
		return web.ErrBusy.With(err)
	}
	defer r.turns.End()
	return do()
}
