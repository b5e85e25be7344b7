package campaigns

import (
	"context"

	"newsletterd/core"
)

// hoursOfOpenings sums up the first openings of a tenant's last ten campaigns by hours of the week, which begins on
// Thursday as 1970 did, of their first two weeks.
const hoursOfOpenings = `WITH j AS MATERIALIZED (SELECT no, started_at / 3600000 AS hour FROM send_job
		INDEXED BY send_job_tenant WHERE tenant_id = ?1 AND status = 'completed' AND retry_of = '' ORDER BY no DESC LIMIT 10)
	SELECT h.hour % 168 AS hour, sum(h.opened) AS opened, (SELECT count(*) FROM j) AS campaigns
	FROM j CROSS JOIN engaged_hour AS h ON h.job_no = j.no AND h.hour < j.hour + 336 GROUP BY h.hour % 168`

// BestTime returns when the subscribers of a tenant open most, by its last campaigns: the next such hour that begins
// after now; 0: too little is known. Its only error is core.ErrStorage.
func (s *Store) BestTime(ctx context.Context, tenantID string, now core.Instant) (core.Instant, error) {
	var hours []core.OpeningHour
	err := s.All(ctx, &hours, hoursOfOpenings, tenantID)
	return core.BestTime(hours, now), err
}
