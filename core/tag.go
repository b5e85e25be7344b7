package core

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Limits of tags.
const (
	MaxTags      = 500 // tags per tenant
	MaxTagsOfOne = 50  // tags per person
	MaxTagName   = 60  // characters
)

// Tag is a label that a team gives to people. Only team members can see and change it.
type Tag struct {
	No        int64   `json:"-" db:"no"`
	ID        string  `json:"id" db:"id"`
	TenantID  string  `json:"tenant_id" db:"tenant_id"`
	Name      string  `json:"name" db:"name"`
	NameKey   string  `json:"-" db:"name_key"` // TagKey of Name
	CreatedAt Instant `json:"created_at" db:"created_at"`
	UpdatedAt Instant `json:"updated_at" db:"updated_at"`
}

// TagKey returns a tag's name without differences in case. Names with the same key count as equal.
func TagKey(name string) string { return foldText(strings.TrimSpace(name)) }

// NewTag returns a new tag for a tenant.
func NewTag(tenantID, name string, now Instant) (Tag, error) {
	t := Tag{ID: NewID(), TenantID: tenantID, CreatedAt: now}
	return t, t.Rename(name, now)
}

// CheckTagName returns an error for a name that a tag can't have. name must already be trimmed. Invisible characters
// would make two tags look alike, and commas and semicolons separate tags in files. An ID isn't allowed, either,
// because a rule with an ID refers to the tag with that ID.
func CheckTagName(name string) error {
	if name == "" || utf8.RuneCountInString(name) > MaxTagName || hasControl(name) || !utf8.ValidString(name) {
		return Invalidf("name", "name must have 1 to %d characters and no control characters.", MaxTagName)
	}
	if hasInvisible(name) {
		return Invalidf("name", "name contains invisible characters. Remove them.")
	}
	if strings.ContainsAny(name, ",;") {
		return Invalidf("name", "name contains a comma or a semicolon. Remove it.")
	}
	if _, id := ParseID(name); id {
		return Invalidf("name", "name is a UUID. Choose another name.")
	}
	return nil
}

// TagNames returns the names of tags without surrounding space and duplicates. It returns an error if there are more
// than MaxTagsOfOne, with duplicates, or if a name isn't valid.
func TagNames(names []string) (Strings, error) {
	if len(names) > MaxTagsOfOne {
		return nil, Invalidf("tags", "A person can have at most %d tags. Remove one first.", MaxTagsOfOne)
	}
	trimmed := Strings{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if err := CheckTagName(name); err != nil {
			if e, ok := errors.AsType[*Error](err); ok {
				wrong := *e
				wrong.Field = "tags"
				err = &wrong
			}
			return nil, err
		}
		trimmed = trimmed.With(name)
	}
	return trimmed, nil
}

// Rename sets the name of the tag.
func (t *Tag) Rename(name string, now Instant) error {
	name = strings.TrimSpace(name)
	if err := CheckTagName(name); err != nil {
		return err
	}
	if name != t.Name {
		t.Name, t.NameKey, t.UpdatedAt = name, TagKey(name), now
	}
	return nil
}

// Named reports whether the operand of a rule condition is the name or the id of the tag.
func (t *Tag) Named(condition string) bool {
	return condition != "" && (condition == t.ID || TagKey(condition) == t.NameKey)
}

// ErrTagUsed returns the Conflict error for deleting a tag that segments use.
func ErrTagUsed(by []Segment) *Error {
	if len(by) > 1 {
		return Conflictf("tag_in_use", "The segment %q and others use this tag. Remove the tag from them first.",
			by[0].Name)
	}
	return Conflictf("tag_in_use", "The segment %q uses this tag. Remove the tag from the segment first.", by[0].Name)
}

// ErrTagOfList returns the Conflict error for deleting a tag that a list adds to new subscribers.
func ErrTagOfList(name string) *Error {
	return Conflictf("tag_in_use", "The list %q adds this tag to new subscribers. Clear the list's signup_tag_id "+
		"first.", name)
}
