package handlers

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// subscriberTags holds the tags of a person.
type subscriberTags struct {
	Tags []string `json:"tags" is:"required" max:"50" about:"Names of the person's tags on all lists of the tenant"`
}

// taggedSubscriber is the answer to subscriberTags.
type taggedSubscriber struct {
	Tags []string `json:"tags"` // names
}

// tagNames returns the names of tags.
func tagNames(tags []core.Tag) []string {
	return web.RowsOf(tags, func(t *core.Tag) string { return t.Name })
}

// tag replaces the tags of a person.
func (a subscribers) tag(c *web.Call, in subscriberTags) (taggedSubscriber, error) {
	l := a.found(c)
	tags, err := a.store.SetTags(c, l.TenantID, l.Email, in.Tags, web.Actor(c), c.Now)
	return taggedSubscriber{tagNames(tags)}, err
}
