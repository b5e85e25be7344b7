package campaigns

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"newsletterd/core"
	"newsletterd/store/db"
)

// CampaignVersion returns a campaign version with its fields. Version 0 means the current version. If the version no
// longer exists, it returns core.ErrNotFound.
func (s *Store) CampaignVersion(ctx context.Context, c *core.Campaign, version int64) (v core.CampaignVersion,
	f core.CampaignFields, err error,
) {
	return campaignFields(s.Reads(ctx), c, version)
}

var selectVersion = "SELECT no, " + versionTable.Columns +
	" FROM campaign_version WHERE campaign_no = ? AND version = ?"

func campaignFields(q db.Querier, c *core.Campaign, version int64) (v core.CampaignVersion, f core.CampaignFields,
	err error,
) {
	if version == 0 {
		version = c.Version
	}
	if err = q.Get(&v, selectVersion, c.No, version); err != nil {
		return v, f, err
	}
	if v.Fields != "" {
		return v, f, json.Unmarshal([]byte(v.Fields), &f)
	}
	var written core.CampaignCopy
	if err = q.Get(&written, "SELECT "+copyColumns+" FROM campaign_copy WHERE id = ?", c.ID); err != nil {
		return v, f, err
	}
	var listID string
	if err = q.Get(&listID, selectCampaignList, c.No); errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return v, core.FieldsOf(&written, listID), err
}

// CampaignVersions returns a page of a campaign's versions without their fields, newest first. page.After is the number
// of the last version on the previous page, in decimal. If it is not a number, CampaignVersions returns
// core.ErrInvalidCursor.
func (s *Store) CampaignVersions(ctx context.Context, c *core.Campaign, page core.Page) (vs []core.CampaignVersion,
	err error,
) {
	before := int64(math.MaxInt64)
	if page.After != "" {
		if before, err = strconv.ParseInt(page.After, 10, 64); err != nil {
			return nil, core.ErrInvalidCursor
		}
	}
	err = s.All(ctx, &vs, `SELECT no, campaign_no, version, '' AS fields, closed, kept, name, saved_by, client_id, begun_at,
		saved_at FROM campaign_version WHERE campaign_no = ? AND version < ? ORDER BY version DESC
		LIMIT +?`, c.No, before,
		page.Limit)
	return vs, err
}

// keepVersion stores the saved fields, either in the version v or in a new version.
func keepVersion(tx *db.Tx, c *core.Campaign, v *core.CampaignVersion, fields string, e CampaignEdit) error {
	if v.TakesSave(e.Actor, tx.Client(), e.Now) {
		return tx.One("UPDATE campaign_version SET fields = ?, saved_at = ? WHERE no = ?", fields, int64(e.Now), v.No)
	}
	c.Version++
	next := core.CampaignVersion{
		CampaignNo: c.No, Version: c.Version, Fields: fields, SavedBy: e.Actor, ClientID: tx.Client(), BegunAt: e.Now,
		SavedAt: e.Now,
	}
	if _, err := db.InsertRow(tx, &versionTable, &next); err != nil {
		return err
	}
	_, err := tx.Exec(`DELETE FROM campaign_version WHERE campaign_no = ?1 AND kept = 0 AND version <= (SELECT version
		FROM campaign_version WHERE campaign_no = ?1 AND kept = 0 ORDER BY version DESC LIMIT 1 OFFSET ?2)`, c.No,
		core.VersionsKept)
	return err
}

// RestoreVersion makes the content of an earlier version the current one, as a new version. If that version no longer
// exists, it returns core.ErrNotFound. It also returns the errors of EditCampaign.
func (s *Store) RestoreVersion(ctx context.Context, e CampaignEdit, version int64) (core.Campaign, error) {
	return s.changeCampaign(ctx, e, "campaign.restore", func(tx *db.Tx, c *core.Campaign) (bool, error) {
		v, f, err := campaignFields(tx, c, version)
		if err == nil {
			err = c.Editable()
		}
		if err != nil {
			return false, err
		}
		if err := keep(tx, c.No, version); err != nil {
			return false, err
		}
		if err := closeVersion(tx, c.No, c.Version); err != nil {
			return false, err
		}
		changed, err := editCampaign(tx, c, e, func(now *core.CampaignFields) error {
			*now = f
			return nil
		})
		c.AlsoWrittenBy(v.SavedBy)
		if v.ClientID != "" {
			c.AlsoWrittenBy(core.ClientActor(v.ClientID))
		}
		return changed, err
	})
}

// NameVersion renames a version and keeps it permanently. If there is no such version, it returns core.ErrNotFound.
func (s *Store) NameVersion(ctx context.Context, c *core.Campaign, version int64, name string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		v, _, err := campaignFields(tx, c, version)
		if err != nil || v.Name == name {
			return err
		}
		return tx.One("UPDATE campaign_version SET kept = 1, name = ? WHERE no = ?", name, v.No)
	})
}

// keep marks a version to be kept permanently.
func keep(tx *db.Tx, no, version int64) error {
	return tx.One("UPDATE campaign_version SET kept = 1 WHERE campaign_no = ? AND version = ?", no, version)
}

// SawVersion records that a person has viewed the current version. If other people save the campaign later, they create
// a new version. Its only error is core.ErrStorage.
func (s *Store) SawVersion(ctx context.Context, c *core.Campaign, v *core.CampaignVersion, by string) error {
	if v.Closed || v.Kept || v.SavedBy == by {
		return nil
	}
	return s.Update(ctx, func(tx *db.Tx) error { return closeVersion(tx, c.No, v.Version) })
}

func closeVersion(tx *db.Tx, no, version int64) error {
	_, err := tx.Exec("UPDATE campaign_version SET closed = 1 WHERE campaign_no = ? AND version = ?", no, version)
	return err
}
