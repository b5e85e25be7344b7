package core

import "slices"

// ImportedPost is a post of another tool that was uploaded and can become an issue in the archive of a list.
type ImportedPost struct {
	No       int64   `db:"no" json:"no"` // place in the import
	Title    string  `db:"title" json:"title"`
	Summary  string  `db:"summary" json:"summary"`
	Slug     string  `db:"slug" json:"slug"` // in the other tool; empty if unknown
	Author   string  `db:"author" json:"author"`
	Kind     string  `db:"kind" json:"kind"` // as the tool names it, such as newsletter or page
	PostedAt Instant `db:"posted_at" json:"posted_at,omitzero"`
	Draft    bool    `db:"draft" json:"draft"` // it was never published
	Paid     bool    `db:"paid" json:"paid"`   // only members or paid subscribers could read it
	// path of the issue that it has become, below that of the archive; empty if none
	Issue string `db:"issue" json:"issue"`
}

// IsPage reports whether p is a page of the old site, such as "About". Pages aren't selected by default.
func (p *ImportedPost) IsPage() bool { return p.Kind == "page" }

// PostsInput selects the posts of an export that become issues.
type PostsInput struct {
	Posts  *[]int64 `json:"posts"`  // numbers of the posts; drafts and paid don't matter then
	Drafts bool     `json:"drafts"` // also posts that were never published
	Paid   bool     `json:"paid"`   // also posts that only members or paid subscribers could read
	// address of the site at the other tool: for links between posts, and for links and images without an address
	Site OldSite `json:"site" like:"line" max:"2000"`
}

// Wants reports whether a post becomes an issue.
func (in *PostsInput) Wants(p *ImportedPost) bool {
	if in.Posts != nil {
		return slices.Contains(*in.Posts, p.No)
	}
	return !p.IsPage() && (in.Drafts || !p.Draft) && (in.Paid || !p.Paid)
}

// NoPost returns the error for the number of a post that doesn't exist.
func NoPost(no int64) *Error {
	return Invalidf("posts", "The export has no post with the number %d.", no)
}

// CheckInput normalizes the address of the site. It returns an Invalid error if that is not a valid address.
func (in *PostsInput) CheckInput() (err error) {
	in.Site, err = ParseOldSite(string(in.Site))
	return err
}
