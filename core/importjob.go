package core

import (
	"encoding/json"
	"slices"
)

// The statuses of an ImportJob.
const (
	ImportUploading = "uploading" // the file is being uploaded
	ImportUploaded  = "uploaded"
	ImportWaiting   = "waiting" // waiting for other imports
	ImportRunning   = "running"
	ImportChecked   = "checked" // a dry run ended; it may have a failure reason
	ImportCompleted = "completed"
	ImportFailed    = "failed"
	ImportCancelled = "cancelled"
	ImportDeleted   = "deleted" // its file is being deleted; not shown
)

// The reasons why an ImportJob failed or was canceled.
const (
	ImportNobody  = "no_line_imported" // every line has an error
	ImportExpired = "expired"          // it was never run
	ImportErased  = "person_erased"    // the file contained the address of a person whose data was erased
)

// ImportFileStatus is the column in a merged export with the status that a file's name gives to everyone in that file.
const ImportFileStatus = "file_status"

// MaxOpenImports is the maximum number of unfinished imports per tenant.
const MaxOpenImports = 5

// DefaultImportBytes is the default maximum size of an uploaded file, in bytes.
const DefaultImportBytes = 256 << 20

// ImportJob is an uploaded subscriber file and its import into a list.
type ImportJob struct {
	ID               string        `db:"id" json:"id"`
	TenantID         string        `db:"tenant_id" json:"tenant_id"`
	ListID           string        `db:"list_id" json:"list_id"`
	Name             string        `db:"name" json:"name" about:"Name of the import, usually that of the file"`
	Tool             string        `db:"tool" json:"tool,omitempty" about:"Service that exported the file, such as substack; absent: unknown"`
	Posts            int64         `db:"posts" json:"posts" about:"Posts in the export that can become issues"`
	PostsSkipped     int64         `db:"posts_skipped" json:"posts_skipped" about:"Posts that are too large or have no content"`
	RelativePosts    int64         `db:"relative_posts" json:"relative_posts" about:"Posts with links or images that lack the address of their site"`
	Site             OldSite       `db:"site" json:"site,omitempty" about:"Address of the site at the other tool; absent until posts are imported with it"`
	Pictures         int64         `db:"pictures" json:"images" about:"Different images in the posts"`
	PicturesSkipped  int64         `db:"pictures_skipped" json:"images_skipped" about:"Images beyond the limit, which aren't copied"`
	Bytes            int64         `db:"bytes" json:"bytes"`
	Status           string        `db:"status" json:"status" enum:"uploading|uploaded|waiting|running|checked|completed|failed|cancelled" about:"State of the import; checked: a dry run has ended"`
	DryRun           bool          `db:"dry_run" json:"dry_run" about:"Whether the current or last run changes nothing"`
	SubscriberStatus string        `db:"subscriber_status" json:"subscriber_status" enum:"active|pending" about:"Status of new subscribers; pending ones get a confirmation email"`
	Source           string        `db:"source" json:"source"` // for the consent ledger
	Mapping          ColumnMapping `db:"mapping" json:"mapping" about:"Columns and the fields they are imported into"`
	KeepFields       bool          `db:"keep_fields" json:"keep_fields" about:"Whether existing subscribers keep their fields"`
	KnownOnly        bool          `db:"known_only" json:"known_only" about:"Whether columns that aren't mapped to a known field are ignored"`
	Tags             Strings       `db:"tags" json:"tags,omitempty" about:"Tags for everyone in the import; absent: none, or the import ended over a week ago"`
	Suppress         bool          `db:"suppress" json:"suppress" about:"Whether every address goes to the suppression list instead of the list"`
	Lines            int64         `db:"lines" json:"lines" about:"Lines of the file; 0: not all of them are read yet"`
	ImportCounts
	Typos DomainTypos `db:"typos" json:"typos" about:"Domains that are probably misspelled; the addresses are imported unchanged"`
	ImportUndo
	CreatedBy     string  `db:"created_by" json:"created_by"`
	CreatedAt     Instant `db:"created_at" json:"created_at"`
	StartedAt     Instant `db:"started_at" json:"started_at,omitzero"`
	FinishedAt    Instant `db:"finished_at" json:"finished_at,omitzero"`
	FailureReason string  `db:"failure_reason" json:"failure_reason,omitempty" about:"Why it failed: no_line_imported, expired or person_erased; absent: it didn't"`

	Announced int64  `db:"announced" json:"-"` // changes sent as separate events
	DoneID    string `db:"done_id" json:"-"`   // id of the last processed row, in id order
	DoneRows  int64  `db:"done_rows" json:"-"` // processed rows with this id

	ReplacedBytes int64 `db:"replaced_bytes" json:"-"` // size in bytes of the data kept to undo the import

	MayEnd      bool `db:"may_end" json:"-"`
	MaySuppress bool `db:"may_suppress" json:"-"`
}

// ImportTooLarge returns the error for a file of more than limit bytes.
func ImportTooLarge(limit int64) *Error {
	return tooLargef("The file is too large (limit: %s). Split it into smaller files.", ByteSize(limit))
}

// toolNames maps values of ImportJob.Tool to display names.
var toolNames = map[string]string{
	"beehiiv": "beehiiv", "brevo": "Brevo", "buttondown": "Buttondown", "ghost": "Ghost", "kit": "Kit",
	"listmonk": "listmonk", "mailchimp": "Mailchimp", "mailerlite": "MailerLite", "sendy": "Sendy",
	"substack": "Substack",
}

// ToolName returns the display name of the service that the file comes from, or an empty string if it is unknown.
func (j *ImportJob) ToolName() string { return ToolName(j.Tool) }

// ToolName returns the display name for a value of ImportJob.Tool, or an empty string if it is unknown.
func ToolName(tool string) string { return toolNames[tool] }

// Ended reports whether the import is completed, failed or cancelled.
func (j *ImportJob) Ended() bool {
	return slices.Contains([]string{ImportCompleted, ImportFailed, ImportCancelled}, j.Status)
}

// ImportCounts holds the results of an import so far.
type ImportCounts struct {
	Added        int64 `db:"added" json:"added" about:"New on the list"`
	Updated      int64 `db:"updated" json:"updated" about:"Existing, with changed fields"`
	Unchanged    int64 `db:"unchanged" json:"unchanged" about:"Existing, not changed"`
	Kept         int64 `db:"kept" json:"kept" about:"Unsubscribed, blocked or erased; left alone"`
	Contradicted int64 `db:"contradicted" json:"contradicted" about:"Skipped: unsubscribed in another row"`
	Pending      int64 `db:"pending" json:"pending" about:"Skipped: never confirmed elsewhere"`
	Failed       int64 `db:"failed" json:"failed" about:"Rows with an error"`
	NoAddress    int64 `db:"no_address" json:"no_address" about:"Skipped: no email address"`
	Unsubscribed int64 `db:"unsubscribed" json:"unsubscribed" about:"Imported as unsubscribed"`
	// addresses added to the tenant's suppression list, by reason
	Bounced            int64  `db:"bounced" json:"bounced" about:"Suppressed as bounced"`
	Complained         int64  `db:"complained" json:"complained" about:"Suppressed because of a complaint"`
	Suppressed         int64  `db:"suppressed" json:"suppressed" about:"Suppressed for another reason"`
	NotPermitted       int64  `db:"not_permitted" json:"not_permitted" about:"Skipped: needs another permission"`
	Evidence           int64  `db:"evidence" json:"evidence" about:"Rows with proof of an earlier signup"`
	EvidenceUnreadable int64  `db:"evidence_unreadable" json:"evidence_unreadable" about:"No readable time or IP"`
	EvidenceFuture     int64  `db:"evidence_future" json:"evidence_future" about:"With a time in the future"`
	Tagged             int64  `db:"tagged" json:"tagged" about:"People who got a new tag"`
	NewTags            int64  `db:"new_tags" json:"new_tags" about:"Tags created"`
	TagsSkipped        int64  `db:"tags_skipped" json:"tags_skipped" about:"Invalid tags, or too many"`
	SyncID             string `db:"sync_id" json:"sync_id,omitempty" about:"Full sync that announces the import; absent: none"` // full sync that announces the import
}

// Rows returns the number of lines processed so far.
func (c ImportCounts) Rows() int64 {
	return c.Added + c.Updated + c.Unchanged + c.Kept + c.Contradicted + c.Pending + c.Failed + c.Unsubscribed +
		c.Bounced + c.Complained + c.Suppressed + c.NotPermitted + c.NoAddress
}

// PeopleColumns names the columns for an imported list of people without a header.
var PeopleColumns = []string{"email", "first_name", "last_name"}

// ColumnMapping maps a file's columns to preference names, or to "email", "status" (the subscription status) or "tags".
// A column mapped to an empty name is ignored. Columns not in the mapping are recognized by their names.
type ColumnMapping map[string]string

// Column returns the value to store in the database column.
func (m ColumnMapping) Column() string { return jsonColumn(m, len(m) == 0, "{}") }

// Scan implements sql.Scanner.
func (m *ColumnMapping) Scan(src any) error { return scanJSON(src, m) }

// MarshalJSON implements json.Marshaler. A nil mapping is an empty object.
func (m ColumnMapping) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]string(m))
}

// UnmarshalJSON implements json.Unmarshaler. The JSON must be an object of strings.
func (m *ColumnMapping) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, (*map[string]string)(m)); err != nil {
		return Invalidf("", "must be a JSON object whose values are strings.")
	}
	return nil
}

// ImportInput holds the settings for importing an uploaded file.
type ImportInput struct {
	DryRun           bool          `json:"dry_run"` // change nothing, only report the results
	Mapping          ColumnMapping `json:"mapping" about:"Field for each column, or email, status or tags; an empty value ignores the column"`
	SubscriberStatus string        `json:"subscriber_status" enum:"active|pending"`
	Source           string        `json:"source" like:"line" max:"255" about:"Where the subscribers come from, for the consent history"`
	KeepFields       bool          `json:"keep_fields" about:"Existing subscribers keep their fields; always on without people.change"`
	KnownOnly        bool          `json:"known_only" about:"Ignore columns that are not in mapping, not a field of the list, and not known by name"`
	Tags             Strings       `json:"tags" max:"50" about:"Names of tags for everyone in the import; unknown ones are created; needs people.tag"`
	Suppress         *bool         `json:"suppress,omitempty" about:"Add every address to the tenant's suppression list instead; needs suppression.manage"`

	MayEnd      bool `json:"-"` // the caller may end subscriptions
	MaySuppress bool `json:"-"` // the caller may suppress addresses
}
