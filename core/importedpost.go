package core

import "slices"

// ImportedPost is a post in an export from another tool. It can become an issue in a list's archive.
type ImportedPost struct {
	No       int64   `db:"no" json:"no" about:"Number of the post in the import"`
	Title    string  `db:"title" json:"title" about:"Title of the post"`
	Summary  string  `db:"summary" json:"summary" about:"Summary of the post; empty: none"`
	Slug     string  `db:"slug" json:"slug" about:"Slug in the other tool; empty: unknown"`
	Author   string  `db:"author" json:"author" about:"Name of the author; empty: unknown"`
	Kind     string  `db:"kind" json:"kind" about:"Kind as the other tool names it, such as newsletter or page"`
	PostedAt Instant `db:"posted_at" json:"posted_at,omitzero" about:"Time of publication; absent: unknown"`
	Draft    bool    `db:"draft" json:"draft" about:"Whether the post was never published"`
	Paid     bool    `db:"paid" json:"paid" about:"Whether only members or paid subscribers could read it"`
	Issue    string  `db:"issue" json:"issue" about:"Path of the issue below that of the archive; empty: not published yet"`
}

// IsPage reports whether p is a page of the old site, such as "About", instead of a post. Pages aren't imported by
// default.
func (p *ImportedPost) IsPage() bool { return p.Kind == "page" }

// PostsInput selects the posts in an export that become issues in an archive.
type PostsInput struct {
	Posts  *[]int64 `json:"posts" about:"Numbers of the posts; if set, drafts and paid are ignored"`
	Drafts bool     `json:"drafts" about:"Also publish posts that were never published"`
	Paid   bool     `json:"paid" about:"Also publish posts that only members or paid subscribers could read"`
	Site   OldSite  `json:"site" like:"line" max:"2000" about:"Address of the site at the other tool, for links and images without an address"`
}

// Wants reports whether in selects a post.
func (in *PostsInput) Wants(p *ImportedPost) bool {
	if in.Posts != nil {
		return slices.Contains(*in.Posts, p.No)
	}
	return !p.IsPage() && (in.Drafts || !p.Draft) && (in.Paid || !p.Paid)
}

// NoPost returns the error for a post number that doesn't exist.
func NoPost(no int64) *Error {
	return Invalidf("posts", "The export has no post with the number %d. Use a number from the list of posts.", no)
}

// CheckInput normalizes the site's address, or returns an Invalid error if it is not valid.
func (in *PostsInput) CheckInput() (err error) {
	in.Site, err = ParseOldSite(string(in.Site))
	return err
}
