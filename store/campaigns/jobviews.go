package campaigns

import (
	"context"
	"math"
	"strconv"

	"newsletterd/core"
	"newsletterd/store/db"
)

// jobViews selects jobs with the heads of their campaigns, which come from an index, but without bodies.
const jobViews = jobView + jobViewFrom

const jobView = `SELECT send_job.no, send_job.id, send_job.tenant_id, send_job.list_id, ` + jobListIDs + ` AS list_ids,
	send_job.campaign_id,
	send_job.status,
	campaign_copy.name, campaign_copy.subject, scheduled_at, window_start, window_end, send_job.created_at,
	iif(send_job.status = 'pending', due_at, 0) AS starts_at, started_at, finished_at,
	failure_reason, paused_at, ` + pauseReason + `, retry_of, expected, duplicates, excluded, first_few, first_until, expanded, transport,
	recipients, sent, delivered, ` + Deferral + `,
	failed, skipped, bounced, complained, opened, clicked, unsubscribed, ambiguous, machine_opened, machine_clicked,
	tracked, people_opened, unclear_opened, scanner_opened, ` + totalsOfJob + `,
	(SELECT no_tracking FROM tenant WHERE tenant.id = send_job.tenant_id) AS no_tracking
	FROM send_job `

const jobViewFrom = `CROSS JOIN campaign_copy INDEXED BY campaign_copy_head ON campaign_copy.id = send_job.copy_id
	WHERE (SELECT deleted_at FROM tenant WHERE tenant.id = send_job.tenant_id) = 0 `

const (
	jobViewByID   = jobViews + "AND send_job.id = ?"
	newerThan     = "AND send_job.no < ?1 AND (?2 = '' OR status = ?2) "
	newestJobs    = jobViews + newerThan
	jobsOfAll     = newestJobs + "ORDER BY send_job.no DESC LIMIT +?3"
	jobsOfTenant  = jobView + "INDEXED BY send_job_tenant " + jobViewFrom + newerThan + "AND send_job.tenant_id = ?4 ORDER BY send_job.no DESC LIMIT +?3"
	jobsOfTenants = newestJobs + "AND +send_job.tenant_id IN (SELECT value FROM json_each(?4)) ORDER BY send_job.no " +
		"DESC LIMIT +?3"
	jobsOfCampaign = jobView + "INDEXED BY send_job_campaign " + jobViewFrom + newerThan + `AND send_job.campaign_id = ?4
		AND (?5 OR +send_job.tenant_id IN (SELECT value FROM json_each(?6))) ORDER BY send_job.no DESC LIMIT +?3`
	jobsOfCampaigns = newestJobs + `AND send_job.no IN (SELECT no FROM send_job INDEXED BY send_job_campaign
		WHERE campaign_id IN (SELECT value FROM json_each(?4)))
		AND (?5 OR +send_job.tenant_id IN (SELECT value FROM json_each(?6))) ORDER BY send_job.no DESC LIMIT +?3`
	jobsOfList = newestJobs + `AND send_job.no IN (SELECT no FROM send_job WHERE list_id = ?4 UNION ALL
		SELECT job_no FROM further_list INDEXED BY further_list_list WHERE list_id = ?4)
		AND (?5 OR +send_job.tenant_id IN (SELECT value FROM json_each(?6))) ORDER BY send_job.no DESC LIMIT +?3`
)

// JobFilter selects send jobs.
type JobFilter struct {
	Tenants []string       // only jobs of these tenants
	All     bool           // whether to select jobs of all tenants
	Status  core.JobStatus // empty means any
	ListID  string         // only jobs that go to this list; empty means any

	CampaignIDs []string // only jobs of these campaigns, with all their lists; nil means any
}

// JobView returns a job. If the job doesn't exist, or its tenant was deleted, it returns core.ErrJobNotFound.
func (s *Store) JobView(ctx context.Context, id string) (v core.JobView, err error) {
	err = s.Get(ctx, &v, jobViewByID, id)
	v.Measure(&v.OpenCounts)
	return v, noJob(err)
}

// JobViews returns a page of jobs, newest first. page.After is the number of the last job on the previous page, in
// decimal. If it is not a number, JobViews returns core.ErrInvalidCursor.
func (s *Store) JobViews(ctx context.Context, f JobFilter, page core.Page) (vs []core.JobView, err error) {
	before := int64(math.MaxInt64)
	if page.After != "" {
		if before, err = strconv.ParseInt(page.After, 10, 64); err != nil {
			return nil, core.ErrInvalidCursor
		}
	}
	args := []any{before, string(f.Status), page.Limit}
	switch {
	case len(f.CampaignIDs) == 1:
		err = s.All(ctx, &vs, jobsOfCampaign, append(args, f.CampaignIDs[0], f.All, db.JsonOf(f.Tenants))...)
	case len(f.CampaignIDs) > 1:
		err = s.All(ctx, &vs, jobsOfCampaigns, append(args, db.JsonOf(f.CampaignIDs), f.All, db.JsonOf(f.Tenants))...)
	case f.ListID != "":
		err = s.All(ctx, &vs, jobsOfList, append(args, f.ListID, f.All, db.JsonOf(f.Tenants))...)
	case f.All:
		err = s.All(ctx, &vs, jobsOfAll, args...)
	case len(f.Tenants) == 1:
		err = s.All(ctx, &vs, jobsOfTenant, append(args, f.Tenants[0])...)
	default:
		err = s.All(ctx, &vs, jobsOfTenants, append(args, db.JsonOf(f.Tenants))...)
	}
	for i := range vs {
		vs[i].Measure(&vs[i].OpenCounts)
	}
	return vs, err
}
