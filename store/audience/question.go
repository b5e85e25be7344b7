package audience

import "newsletterd/core"

// Question asks who of the active subscribers of lists matches a rule.
type Question struct {
	TenantID string
	ListIDs  []string
	Rule     *core.Rule // may refer to segments
	Exact    bool       // for CountSegment: count everyone, however long it takes
	Now      core.Instant
}
