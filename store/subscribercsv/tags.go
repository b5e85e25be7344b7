package subscribercsv

import (
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/imports"
)

// namesTags reports whether a column with this name contains tags. A column that is a field of the list doesn't, except
// in exports of newsletterd.
func (c *Reader) namesTags(name string) bool {
	if c.form.base == "preferences" && name == "tags" {
		return true
	}
	return slices.Contains(tagNames, foldWord(name)) &&
		!slices.ContainsFunc(c.options.Fields, func(f core.Field) bool { return f.Name == name || f.Label == name })
}

// HasTags reports whether the file has a column of tags.
func (c *Reader) HasTags() bool { return len(c.tags) > 0 }

// tagsOf returns the tags of a line, and those for everyone, in the form of ImportRow.Tags, at most core.MaxTagsOfOne.
// It counts tags beyond that and invalid names.
func (c *Reader) tagsOf(record []string) string {
	var b strings.Builder
	b.WriteString(strings.Join(c.options.Tags, imports.TagSeparator))
	n := len(c.options.Tags)
	for _, i := range c.tags {
		for _, name := range splitTags(cleanCell(record[i])) {
			if name = cleanCell(name); name == "" {
				continue
			}
			if n == core.MaxTagsOfOne || core.CheckTagName(name) != nil {
				c.BadTags++
				continue
			}
			n++
			if b.Len() > 0 {
				b.WriteString(imports.TagSeparator)
			}
			b.WriteString(name)
		}
	}
	return b.String()
}

// splitTags splits a cell into tags. It accepts commas and semicolons as separators, the quotes of Mailchimp's exports,
// the format of Google Contacts, and a JSON array.
func splitTags(cell string) []string {
	cell = plainCell(cell)
	switch {
	case cell == "":
		return nil
	case strings.HasPrefix(cell, "["):
		var names []string
		if json.Unmarshal([]byte(cell), &names) == nil {
			return names
		}
	case strings.HasPrefix(cell, `"`):
		r := csv.NewReader(strings.NewReader(cell))
		r.TrimLeadingSpace = true
		if names, err := r.Read(); err == nil {
			return names
		}
	}
	if strings.Contains(cell, severalValues) { // Google's built-in groups begin with a star
		return slices.DeleteFunc(strings.Split(cell, severalValues), func(s string) bool {
			return strings.HasPrefix(s, "* ")
		})
	}
	names := strings.FieldsFunc(cell, func(r rune) bool { return r == ',' || r == ';' })
	for i := range names {
		names[i] = strings.Trim(cleanCell(names[i]), `"`)
	}
	return names
}
