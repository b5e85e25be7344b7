package audience

import (
	"context"

	"newsletterd/core"
)

// CountSegment counts the subscribers who match a rule.
func (s *Store) CountSegment(ctx context.Context, q Question) (core.SegmentCount, error) {
	return core.SegmentCount{}, core.ErrNotFound
}
