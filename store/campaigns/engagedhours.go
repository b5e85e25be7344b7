package campaigns

import (
	"context"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// countHour adds the numbers of people who first opened an email of a job, or first clicked a link in it, to the hour
// that contains at. The numbers are negative if an open or click turns out to be automated.
func countHour(tx *db.Tx, job int64, at core.Instant, opened, clicked int64) error {
	if opened == 0 && clicked == 0 {
		return nil
	}
	_, err := tx.Exec(`INSERT INTO engaged_hour (job_no, hour, opened, clicked) VALUES (?1, ?2, max(0, ?3), max(0, ?4))
		ON CONFLICT DO UPDATE SET opened = max(0, opened + ?3), clicked = max(0, clicked + ?4)`, job,
		at.Time().Unix()/int64(time.Hour/time.Second), opened, clicked)
	return err
}

// maxHours is the maximum number of hours read for a campaign, which is about three months if every hour has an open.
const maxHours = 2000

const campaignHours = `SELECT h.hour * 3600000 AS at, sum(h.opened) AS opened, sum(h.clicked) AS clicked
	FROM send_job AS j INDEXED BY send_job_campaign CROSS JOIN engaged_hour AS h ON h.job_no = j.no
	WHERE j.campaign_id = ? GROUP BY h.hour ORDER BY h.hour LIMIT +?`

// CampaignHours returns the opens and clicks of a campaign by hour, oldest first. It leaves out hours without any. Its
// only error is core.ErrStorage.
func (s *Store) CampaignHours(ctx context.Context, campaignID string) ([]core.EngagedHour, error) {
	hours := []core.EngagedHour{}
	err := s.All(ctx, &hours, campaignHours, campaignID, maxHours)
	return hours, err
}

// hoursOfOpenings adds up the first opens of a tenant's last 10 campaigns for each hour of the week, within two weeks
// of each campaign's start. Weeks begin on Thursday, as 1970 did.
const hoursOfOpenings = `WITH j AS MATERIALIZED (SELECT no, started_at / 3600000 AS hour FROM send_job
		INDEXED BY send_job_tenant WHERE tenant_id = ?1 AND status = 'completed' AND retry_of = '' ORDER BY no DESC LIMIT 10)
	SELECT h.hour % 168 AS hour, sum(h.opened) AS opened, (SELECT count(*) FROM j) AS campaigns
	FROM j CROSS JOIN engaged_hour AS h ON h.job_no = j.no AND h.hour < j.hour + 336 GROUP BY h.hour % 168`
