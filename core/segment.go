package core

import (
	"errors"
	"strings"
)

// MaxSegments is the maximum number of segments per tenant.
const MaxSegments = 200

// RuleText is the JSON form of a rule. A caller's text is unchecked until ParseRule accepts it. An empty RuleText means
// no rule.
type RuleText string

// MarshalJSON returns the raw rule, or null if there is none.
func (t RuleText) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return []byte(t), nil
}

// UnmarshalJSON stores the raw text. It treats null as absent; ParseRule checks the text.
func (t *RuleText) UnmarshalJSON(b []byte) error {
	if string(b) != "null" {
		*t = RuleText(b)
	}
	return nil
}

// Segment is a rule that a tenant has saved under a name. The subscribers who match are not stored; the rule is
// evaluated whenever they are needed.
type Segment struct {
	ID        string   `json:"id" db:"id"`
	TenantID  string   `json:"tenant_id" db:"tenant_id"`
	Name      string   `json:"name" db:"name"`
	Rule      RuleText `json:"rule" db:"rule"`
	Revision  int64    `json:"revision" db:"revision" about:"1 when created, one more after each change"`
	CreatedBy string   `json:"created_by,omitempty" db:"created_by" about:"Who created it, such as user:ID; absent: erased"`
	CreatedAt Instant  `json:"created_at" db:"created_at"`
	ChangedBy string   `json:"changed_by,omitempty" db:"changed_by" about:"Who changed it last, such as user:ID; absent: erased"`
	UpdatedAt Instant  `json:"updated_at" db:"updated_at"`
}

// SegmentInput holds the fields of a segment that a caller sets. A nil name and an empty rule are left unchanged.
type SegmentInput struct {
	Name *string
	Rule RuleText
}

// SameSegmentName reports whether two segment names differ at most in case.
func SameSegmentName(a, b string) bool {
	return foldText(strings.TrimSpace(a)) == foldText(strings.TrimSpace(b))
}

// NewSegment returns a new segment for a tenant.
func NewSegment(tenantID string, in SegmentInput, actor string, now Instant) (Segment, error) {
	s := Segment{ID: NewID(), TenantID: tenantID, CreatedBy: actor, CreatedAt: now}
	if in.Rule == "" {
		return s, Invalidf("rule", "rule is missing.")
	}
	return s, s.Change(in, actor, now)
}

// Change sets the segment's fields from in. It stores the rule in its canonical form.
func (s *Segment) Change(in SegmentInput, actor string, now Instant) error {
	take(&s.Name, in.Name)
	if err := checkName(&s.Name, "name"); err != nil {
		return err
	}
	if in.Rule != "" {
		rule, err := ParseRule("rule", []byte(in.Rule))
		if err != nil {
			return err
		}
		s.Rule = RuleText(rule.JSON())
	}
	s.Revision++
	s.ChangedBy, s.UpdatedAt = actor, now
	return nil
}

// ParsedRule parses the segment's rule.
func (s *Segment) ParsedRule() (*Rule, error) { return ParseRule("rule", []byte(s.Rule)) }

// SegmentCount is the number of subscribers who match a rule. It is either Exact, or an estimate in About, Low and
// High.
type SegmentCount struct {
	Exact *int64  `json:"exact,omitempty"`
	AsOf  Instant `json:"as_of,omitzero"` // of Exact
	About *int64  `json:"about,omitempty"`
	Low   *int64  `json:"low,omitempty"`
	High  *int64  `json:"high,omitempty"`
	Of    int64   `json:"of"` // subscribers of the lists who may be emailed, each counted once per list
}

// SegmentUse is a campaign or a segment that uses a segment.
type SegmentUse struct {
	Kind string `db:"kind" json:"kind" enum:"campaign|segment" about:"What uses the segment"`
	ID   string `db:"id" json:"id"`
	Name string `db:"name" json:"name" about:"Name of the campaign or segment"`
}

// ErrSegmentUsed returns the Conflict error for deleting a segment that is in use.
func ErrSegmentUsed(uses []SegmentUse) *Error {
	if len(uses) > 1 {
		return Conflictf("segment_in_use", "The %s %q and others use this segment. Remove the segment from them first.",
			uses[0].Kind, uses[0].Name)
	}
	return Conflictf("segment_in_use", "The %s %q uses this segment. Remove the segment from it first.", uses[0].Kind,
		uses[0].Name)
}

// CodeUndecided is the code of Undecided's errors.
const CodeUndecided = "segment_undecided"

// cantEvaluate is the beginning of Undecided's error messages.
const cantEvaluate = "The segment can't be evaluated: "

// IsUndecided reports whether err was returned by Undecided.
func IsUndecided(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == CodeUndecided
}

// Undecided returns the Conflict error for a rule with a condition that can't be decided for anyone, for example
// because its campaign was deleted. path is the condition's JSON path.
func Undecided(path, why string) *Error {
	e := Conflictf(CodeUndecided, "The segment can't be evaluated: %s. Change the condition at %s.", why, path)
	if path == "rule" {
		e = Conflictf(CodeUndecided, "The segment can't be evaluated: %s. Change the segment.", why)
	}
	e.Field = path
	return e
}

// UnsavedRule rewords an error from Undecided for a rule that isn't saved as a segment. It returns other errors
// unchanged.
func UnsavedRule(err error) error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok || e.Code != CodeUndecided:
		return err
	case e.Field == "rule":
		return e.Sayf("The rule can't be evaluated: %s. Change the rule.", e.args[0])
	}
	return e.Sayf("The rule can't be evaluated: %s. Change the condition at %s.", e.args[0], e.Field)
}

// SegmentMembership reports whether a list's subscriber matches a rule, with the result of each condition.
type SegmentMembership struct {
	Match      bool     `json:"match" about:"Whether the rule matches. Campaigns reach the subscriber only if the status is active"`
	Status     string   `json:"status" enum:"active|pending|unsubscribed|removed|bounced|complaint|suppressed" about:"Status on the list; removed: no longer on the list"`
	Conditions []Reason `json:"conditions" about:"Results of the conditions, including those of segments that the rule refers to"`
}

// StatusRemoved is the SegmentMembership status of a subscriber who is no longer on the list.
const StatusRemoved Status = "removed"

// Combined returns a rule for the subscribers who match rule and none of the excluded rules. If rule is nil, it only
// excludes. Combined returns nil if there is no rule at all.
func Combined(rule *Rule, excluded []*Rule) *Rule {
	var parts []Rule
	if rule != nil {
		parts = append(parts, *rule)
	}
	for _, r := range excluded {
		parts = append(parts, Rule{Except: r})
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return &parts[0]
	}
	return &Rule{All: parts}
}

// PauseSegment is the prefix of the pause reason for a job whose segment can't be evaluated.
const PauseSegment = "segment"

// PausedFor returns a job's pause reason for e, an error from Undecided.
func PausedFor(e *Error) string {
	return PauseSegment + ": " + strings.TrimPrefix(e.Message, cantEvaluate)
}
