package campaigns

import (
	"cmp"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// ldThing is a schema.org thing in JSON-LD, which archives provide for search engines.
type ldThing struct {
	Context    string    `json:"@context,omitempty"`
	Type       string    `json:"@type"`
	Name       string    `json:"name,omitempty"`
	Headline   string    `json:"headline,omitempty"`
	About      string    `json:"description,omitempty"`
	URL        string    `json:"url,omitempty"`
	Image      string    `json:"image,omitempty"`
	Logo       string    `json:"logo,omitempty"`
	Language   string    `json:"inLanguage,omitempty"`
	Published  string    `json:"datePublished,omitempty"`
	Changed    string    `json:"dateModified,omitempty"`
	Author     *ldThing  `json:"author,omitempty"`
	Publisher  *ldThing  `json:"publisher,omitempty"`
	PartOf     *ldThing  `json:"isPartOf,omitempty"`
	MainEntity string    `json:"mainEntityOfPage,omitempty"`
	Posts      []ldThing `json:"blogPost,omitempty"`
}

const schemaOrg = "https://schema.org"

// publisher describes a list's tenant for search engines.
func (a archive) publisher(c *web.Call, list *core.ListWithTenant) *ldThing {
	b := page.StyleOf(c).Brand
	return &ldThing{Type: "Organization", Name: b.Name, Logo: b.Logo, URL: list.Tenant.Origin(a.Origin) + "/"}
}

// posting describes an issue for search engines.
func (a archive) posting(c *web.Call, list *core.ListWithTenant, i *core.Issue) ldThing {
	by := a.publisher(c, list)
	url := a.issueURL(list, i.Slug)
	t := ldThing{
		Context: schemaOrg, Type: "Article", Headline: i.Title, About: cmp.Or(i.Summary, i.Excerpt), URL: url,
		MainEntity: url, Image: i.Picture, Language: list.PageLanguage(),
		Published: i.SentAt.Time().Format(time.RFC3339),
		Changed:   max(i.SentAt, i.ChangedAt).Time().Format(time.RFC3339), Author: by, Publisher: by,
		PartOf: &ldThing{Type: "Blog", Name: list.Name, URL: a.url(list)},
	}
	if name := authorOf(list, i); name != "" {
		t.Author = &ldThing{Type: "Person", Name: name}
	}
	return t
}

// blog describes an archive page with its issues for search engines.
func (a archive) blog(c *web.Call, list *core.ListWithTenant, issues []core.Issue) ldThing {
	t := ldThing{
		Context: schemaOrg, Type: "Blog", Name: list.Name, About: list.Description, URL: a.url(list),
		Language: list.PageLanguage(), Publisher: a.publisher(c, list),
	}
	for k := range issues {
		i := &issues[k]
		t.Posts = append(t.Posts, ldThing{
			Type: "BlogPosting", Headline: i.Title, About: cmp.Or(i.Summary, i.Excerpt), URL: a.issueURL(list, i.Slug),
			Image: i.Picture, Published: i.SentAt.Time().Format(time.RFC3339),
		})
	}
	return t
}
