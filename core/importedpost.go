package core

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
	Paid     bool    `db:"paid" json:"paid"`   // only members or paying readers could read it
	// path of the issue that it has become, below that of the archive; empty if none
	Issue string `db:"issue" json:"issue"`
}

// PostsInput selects the posts of an export that become issues.
type PostsInput struct {
	Drafts bool `json:"drafts"` // also posts that were never published
	Paid   bool `json:"paid"`   // also posts that only members or paying readers could read
	// address of the site at the other tool: for links between posts, and for links and images without an address
	Site OldSite `json:"site" like:"line" max:"2000"`
}

// CheckInput normalizes the address of the site. If it is not one, CheckInput returns an Invalid error.
func (in *PostsInput) CheckInput() (err error) {
	in.Site, err = ParseOldSite(string(in.Site))
	return err
}
