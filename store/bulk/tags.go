package bulk

import (
	"errors"

	"newsletterd/core"
	"newsletterd/store/tenants"
)

// readTag sets c.tag for an action that tags people. If the tag was deleted, readTag returns core.ErrTagNotFound.
func (c *changing) readTag() (err error) {
	if core.BulkTags(c.action.Kind) {
		c.tag, err = tenants.ReadTag(c.Tx, c.action.TagID)
	}
	return err
}

// setTag adds the action's tag to a person if has is true, and otherwise removes it. It reports whether that changed
// anything.
func (c *changing) setTag(id string, has bool) (bool, error) {
	if has {
		return tenants.TagSubscriber(c.Tx, &c.tag, c.list.ID, id, c.now)
	}
	return tenants.UntagSubscriber(c.Tx, &c.tag, c.list.ID, id)
}

// changeTag tags or untags a person. It skips people whose tags stay the same, and those with core.MaxTagsOfOne tags.
func (c *changing) changeTag(id string) error {
	changed, err := c.setTag(id, c.action.Kind == core.BulkTag)
	if err != nil || !changed {
		return errors.Join(err, c.skip(id))
	}
	return c.keep(id, c.now, &core.BulkBefore{})
}

// undoTag undoes changeTag, unless the person has been given a tag in the meantime.
func (c *changing) undoTag(k *keptPerson) error {
	var since bool
	err := c.Get(&since, "SELECT EXISTS (SELECT 1 FROM tagged WHERE list_id = ? AND id = ? AND at > ?)", c.list.ID,
		k.ID, int64(k.At))
	if err != nil || since {
		return err
	}
	changed, err := c.setTag(k.ID, c.action.Kind == core.BulkUntag)
	if changed {
		c.action.Restored++
	}
	return err
}
