package campaigns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/polls"
	"newsletterd/store/tenants"
)

var (
	campaignTable = db.TableOf[core.Campaign]("campaign", []string{"no", "job_id"},
		[]string{"tenant_id", "created_by", "created_at"})
	versionTable = db.TableOf[core.CampaignVersion]("campaign_version", []string{"no"}, nil)
)

const jobOfCampaign = ", coalesce((SELECT id FROM send_job WHERE no = campaign.job_no), '') AS job_id"

const newestCampaigns = " WHERE no < ?1 AND (?2 = '' OR state = ?2) AND (?3 = '' OR EXISTS (SELECT 1 " +
	"FROM campaign_list WHERE list_id = ?3 AND campaign_no = campaign.no)) AND (?4 = '' OR instr(lower(name || char(10) || " +
	"subject), lower(?4)) > 0) "

// CampaignFilter selects campaigns.
type CampaignFilter struct {
	Tenants []string           // only campaigns of these tenants
	All     bool               // whether to select campaigns of all tenants
	State   core.CampaignState // empty means any
	ListID  string             // only campaigns that go to this list; empty means any
	Text    string             // text contained in the name or the subject, ignoring ASCII case; empty means any
}

// Campaign returns a campaign. If the campaign doesn't exist, or its tenant was deleted, it returns
// core.ErrCampaignNotFound.
func (s *Store) Campaign(ctx context.Context, id string) (c core.Campaign, err error) {
	err = s.Get(ctx, &c, "SELECT no, "+campaignTable.Columns+jobOfCampaign+` FROM campaign WHERE id = ?
		AND tenant_id IN (SELECT id FROM tenant WHERE deleted_at = 0)`, id)
	if err == nil {
		err = withDesigners(s.Reads(ctx), &c)
	}
	return c, noCampaign(err)
}

func campaign(tx *db.Tx, id string) (c core.Campaign, err error) {
	err = tx.Get(&c, "SELECT no, "+campaignTable.Columns+jobOfCampaign+" FROM campaign WHERE id = ?", id)
	if err == nil {
		err = withDesigners(tx, &c)
	}
	return c, noCampaign(err)
}

func noCampaign(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return core.ErrCampaignNotFound
	}
	return err
}

// Campaigns returns a page of campaigns, newest first. page.After is the number of the last campaign on the previous
// page, in decimal. If it is not a number, Campaigns returns core.ErrInvalidCursor.
func (s *Store) Campaigns(ctx context.Context, f CampaignFilter, page core.Page) (cs []core.Campaign, err error) {
	before := int64(math.MaxInt64)
	if page.After != "" {
		if before, err = strconv.ParseInt(page.After, 10, 64); err != nil {
			return nil, core.ErrInvalidCursor
		}
	}
	query := "SELECT no, " + campaignTable.Columns + jobOfCampaign + " FROM campaign"
	if len(f.Tenants) == 1 && !f.All {
		query += " INDEXED BY campaign_tenant"
	}
	query += newestCampaigns
	args := []any{before, string(f.State), f.ListID, f.Text, page.Limit}
	switch {
	case f.All:
		query += "AND (SELECT deleted_at FROM tenant WHERE tenant.id = campaign.tenant_id) = 0 "
	case len(f.Tenants) == 1:
		query += "AND tenant_id = ?6 "
		args = append(args, f.Tenants[0])
	default:
		query += "AND +tenant_id IN (SELECT value FROM json_each(?6)) "
		args = append(args, db.JsonOf(f.Tenants))
	}
	err = s.All(ctx, &cs, query+"ORDER BY no DESC LIMIT +?5", args...)
	return cs, err
}

const selectCampaignList = "SELECT list_id FROM campaign_list WHERE campaign_no = ? LIMIT 1"

// AddCampaign stores a new draft. If the tenant does not exist, it returns core.ErrNotFound. If a list, a layout or the
// sender's domain does not belong to the tenant, it returns an Invalid error.
func (s *Store) AddCampaign(ctx context.Context, c core.Campaign, f *core.CampaignFields) (core.Campaign, error) {
	return s.AddCampaignOnce(ctx, c, f, "", nil)
}

// AddCampaignOnce is like AddCampaign, for a request with an Idempotency-Key. An empty key means that there is none. If
// the key was used before with the same bodyHash, it returns the campaign that the earlier request created, in its
// current state. In addition to AddCampaign's errors, it returns a Conflict if the key was used with another body or
// the campaign was deleted.
func (s *Store) AddCampaignOnce(ctx context.Context, c core.Campaign, f *core.CampaignFields, key string,
	bodyHash []byte,
) (core.Campaign, error) {
	err := s.Update(ctx, func(tx *db.Tx) error {
		if key != "" {
			if done, err := madeBefore(tx, &c, key, bodyHash); done || err != nil {
				return err
			}
		}
		if err := tx.Watch("campaign", c.ID); err != nil {
			return err
		}
		if err := judgeCampaign(tx, c.TenantID, f); err != nil {
			return err
		}
		if err := tenants.SettleTheme(tx, c.TenantID, f); err != nil {
			return err
		}
		f.Rule = ""
		text, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if err := addCampaign(tx, &c, f.ListIDs, string(text)); err != nil {
			return err
		}
		return tx.Audit(c.CreatedAt, c.CreatedBy, "campaign.create", c.TenantID, c.ID)
	})
	return c, err
}

// madeBefore looks up an Idempotency-Key and stores it if it is new. If the key has already created a campaign, it sets
// c to that campaign, and done is true.
func madeBefore(tx *db.Tx, c *core.Campaign, key string, bodyHash []byte) (done bool, err error) {
	made, err := keyed(tx, c.TenantID, key, bodyHash, c.ID, c.CreatedAt)
	if err != nil || made == "" {
		return false, err
	}
	*c, err = campaign(tx, made)
	if core.KindOf(err) == core.NotFound {
		err = core.Conflictf("conflict", "The campaign created with this Idempotency-Key was deleted. Use a new key.")
	}
	return err == nil, err
}

// addCampaign inserts a campaign with its first version.
func addCampaign(tx *db.Tx, c *core.Campaign, lists []string, fields string) (err error) {
	if c.AuditSeen, err = tx.Number(db.NewestAudited); err != nil {
		return err
	}
	c.AlsoWrittenBy(tx.ActingClient())
	if c.No, err = db.InsertRow(tx, &campaignTable, c); err != nil {
		return err
	}
	v := core.CampaignVersion{
		CampaignNo: c.No, Version: c.Version, Fields: fields, Kept: fields == "", SavedBy: c.CreatedBy, ClientID: tx.Client(),
		BegunAt: c.CreatedAt, SavedAt: c.CreatedAt,
	}
	if _, err := db.InsertRow(tx, &versionTable, &v); err != nil {
		return err
	}
	return setCampaignLists(tx, c.No, lists)
}

func setCampaignLists(tx *db.Tx, no int64, lists []string) error {
	if _, err := tx.Exec("DELETE FROM campaign_list WHERE campaign_no = ?", no); err != nil {
		return err
	}
	for _, id := range lists {
		if _, err := tx.Exec("INSERT OR IGNORE INTO campaign_list (list_id, campaign_no) VALUES (?, ?)", id,
			no); err != nil {
			return err
		}
	}
	return nil
}

// judgeCampaign checks a campaign's fields against the tenant's records.
func judgeCampaign(tx *db.Tx, tenantID string, f *core.CampaignFields) error {
	t, err := tenants.ReadTenant(tx, tenantID)
	if err != nil {
		return err
	}
	for _, id := range f.ListIDs {
		l, err := tenants.ReadList(tx, id)
		if errors.Is(err, core.ErrListNotFound) || err == nil && l.TenantID != tenantID {
			return core.Invalidf("list_ids", "list_ids: list %s not found. Leave it out.", id)
		}
		if err != nil {
			return err
		}
	}
	if err := judgeNarrowing(tx, tenantID, &f.Narrowing); err != nil {
		return err
	}
	if _, err := attached(tx, tenantID, f.Attachments); err != nil {
		return err
	}
	known, err := tenants.TemplateExists(tx, tenantID, f.Content.Layout)
	if err == nil && !known {
		err = core.Invalidf("content.layout", "content.layout: template %s not found. Choose another one.",
			f.Content.Layout)
	}
	if err != nil {
		return err
	}
	return f.HasSender(&t)
}

// CampaignEdit identifies the campaign to change, the state that the actor saw, and the actor.
type CampaignEdit struct {
	ID       string
	Revision int64       // revision that the actor saw; 0 means any
	Seen     core.Digest // digest of the content that an approval must cover; empty means any
	Actor    string
	Now      core.Instant

	Archive *bool     // for EditCampaign: whether archives show the campaign; nil means no change
	Head    IssueHead // head of the issue, if Archive is true and the campaign has a job
	Sends   bool      // whether the actor may send campaigns, which Archive needs after an approval
}

// seenAs returns an error if the campaign's revision differs from the one that the actor saw.
func (e *CampaignEdit) seenAs(c *core.Campaign) error {
	if e.Revision != 0 && e.Revision != c.Revision {
		return core.ChangedMeanwhile(c.UpdatedBy, c.UpdatedAt)
	}
	return nil
}

// campaignSeen reads a campaign that is about to change. It returns an error if the campaign's revision differs from
// the one that the actor saw.
func campaignSeen(tx *db.Tx, e *CampaignEdit) (c core.Campaign, err error) {
	if err := tx.Watch("campaign", e.ID); err != nil {
		return c, err
	}
	if c, err = campaign(tx, e.ID); err != nil {
		return c, err
	}
	return c, e.seenAs(&c)
}

// saveCampaign writes a changed campaign. It deletes the earlier copy if neither the campaign nor a job uses it
// anymore.
func saveCampaign(tx *db.Tx, c *core.Campaign, e CampaignEdit, copyWas string) error {
	c.Revision++
	c.UpdatedBy, c.UpdatedAt = e.Actor, e.Now
	if err := db.UpdateRow(tx, &campaignTable, c, c.ID); err != nil {
		return err
	}
	if copyWas == "" || copyWas == c.CopyID || copyWas == c.ID {
		return nil
	}
	var used bool
	err := tx.Get(&used, "SELECT EXISTS (SELECT 1 FROM send_job WHERE copy_id = ?)", copyWas)
	if err != nil || used {
		return err
	}
	for _, table := range []string{"frozen_content", "attachment"} {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE copy_id = ?", copyWas); err != nil {
			return err
		}
	}
	_, err = tx.Exec("DELETE FROM campaign_copy WHERE id = ?", copyWas)
	return err
}

// changeCampaign changes a campaign with rule and returns the result. rule reports whether it has changed anything.
func (s *Store) changeCampaign(ctx context.Context, e CampaignEdit, action string,
	rule func(*db.Tx, *core.Campaign) (bool, error),
) (c core.Campaign, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if c, err = campaignSeen(tx, &e); err != nil {
			return err
		}
		was := c.CopyID
		changed, err := rule(tx, &c)
		if err != nil || !changed {
			return err
		}
		if err := saveCampaign(tx, &c, e, was); err != nil {
			return err
		}
		return tx.Audit(e.Now, e.Actor, action, c.TenantID, c.ID)
	})
	return c, err
}

// EditCampaign changes the fields of a campaign with rule and withdraws the campaign's approval. The archive setting
// can change at any time and does not affect the approval. If nothing changes, EditCampaign does nothing. It returns
// core.ErrCampaignNotFound, core.ErrPreconditionFailed if the revision has changed, or core.ErrConflict if the campaign
// is past approval. If an actor who may not send the campaign shows it in archives after its approval, it returns a
// Forbidden error. It also returns the errors of rule and of checking the changes.
func (s *Store) EditCampaign(ctx context.Context, e CampaignEdit, rule func(*core.CampaignFields) error) (core.Campaign,
	error,
) {
	return s.changeCampaign(ctx, e, "campaign.update", func(tx *db.Tx, c *core.Campaign) (bool, error) {
		changed, err := editCampaign(tx, c, e, rule)
		was := c.InArchive
		if err != nil || e.Archive == nil || !c.ShowInArchive(*e.Archive) {
			return changed, err
		}
		if *e.Archive && !e.Sends && !c.Written() {
			c.InArchive = was
			shown, err := shownUnchosen(tx, c)
			if err == nil && !shown { // the approver has seen that it stays hidden
				err = core.Lacking(core.ActionCampaignSend)
			}
			return changed && err == nil, err
		}
		if *e.Archive && c.JobNo != 0 {
			err = keepIssue(tx, c, e.Head)
		}
		return true, err
	})
}

// shownUnchosen reports whether archives show an approved campaign, or will once it is sent, although no one has chosen
// to show or hide it.
func shownUnchosen(tx *db.Tx, c *core.Campaign) (bool, error) {
	if c.InArchive != "" || c.State == core.CampaignSending || c.State == core.CampaignSent {
		return c.InArchive == "", nil
	}
	_, f, err := campaignFields(tx, c, c.Version)
	return err == nil && !f.Segmented(), err
}

func editCampaign(tx *db.Tx, c *core.Campaign, e CampaignEdit, rule func(*core.CampaignFields) error) (bool, error) {
	v, f, err := campaignFields(tx, c, c.Version)
	if err != nil {
		return false, err
	}
	was, err := json.Marshal(f)
	if err != nil {
		return false, err
	}
	f.ListIDs = slices.Clone(f.ListIDs)
	if err := rule(&f); err != nil {
		return false, err
	}
	f.Rule = ""
	same, err := json.Marshal(f)
	if err != nil || string(same) == string(was) { // even if its theme was deleted
		return false, err
	}
	if err := tenants.SettleTheme(tx, c.TenantID, &f); err != nil {
		return false, err
	}
	is, err := json.Marshal(f)
	if err != nil || string(is) == string(was) {
		return false, err
	}
	if err := c.Editable(); err != nil {
		return false, err
	}
	if err := judgeCampaign(tx, c.TenantID, &f); err != nil {
		return false, err
	}
	if err := c.Edited(&f, e.Actor, e.Now); err != nil {
		return false, err
	}
	c.AlsoWrittenBy(tx.ActingClient())
	if err := setCampaignLists(tx, c.No, f.ListIDs); err != nil {
		return false, err
	}
	if err := tellFields(tx, was, is); err != nil {
		return false, err
	}
	return true, keepVersion(tx, c, &v, string(is), e)
}

// tellFields adds the changed fields of a campaign to the audit entry. For a long value, it adds only the length.
func tellFields(tx *db.Tx, was, is []byte) error {
	var before, after map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(was, &before), json.Unmarshal(is, &after)); err != nil {
		return err
	}
	shown := func(v json.RawMessage) any {
		if len(v) > db.MaxAudited {
			return fmt.Sprintf("%d bytes", len(v))
		}
		return v
	}
	for key := range before {
		if _, there := after[key]; !there {
			tx.Tell(key, shown(before[key]), nil)
		}
	}
	for key := range after {
		if !bytes.Equal(before[key], after[key]) {
			tx.Tell(key, shown(before[key]), shown(after[key]))
		}
	}
	return nil
}

// ArchiveCampaign archives a draft or a sent campaign. It returns the errors of AskReview.
func (s *Store) ArchiveCampaign(ctx context.Context, e CampaignEdit) (core.Campaign, error) {
	return s.changeCampaign(ctx, e, "campaign.archive", func(_ *db.Tx, c *core.Campaign) (bool, error) {
		err := c.Archive()
		return err == nil, err
	})
}

// DeleteCampaign deletes a draft with its versions. It returns core.ErrCampaignNotFound, core.ErrPreconditionFailed
// if the revision has changed, or core.ErrConflict if the campaign ever had a job.
func (s *Store) DeleteCampaign(ctx context.Context, e CampaignEdit) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		c, err := campaignSeen(tx, &e)
		if err != nil {
			return err
		}
		if err := c.Deletable(); err != nil {
			return err
		}
		for _, table := range []string{"campaign_list", "campaign_version", "issue"} {
			if _, err := tx.Exec("DELETE FROM "+table+" WHERE campaign_no = ?", c.No); err != nil {
				return err
			}
		}
		if err := polls.Remove(tx, c.ID); err != nil {
			return err
		}
		if err := tx.One("DELETE FROM campaign WHERE no = ?", c.No); err != nil {
			return err
		}
		return tx.Audit(e.Now, e.Actor, "campaign.delete", c.TenantID, c.ID)
	})
}
