package core

import (
	"encoding/json"
	"slices"
)

// The statuses of an ImportJob.
const (
	ImportUploading = "uploading" // the file is on its way in
	ImportUploaded  = "uploaded"
	ImportWaiting   = "waiting" // for its turn
	ImportRunning   = "running"
	ImportChecked   = "checked" // a dry run has ended, perhaps with a reason why it has failed
	ImportCompleted = "completed"
	ImportFailed    = "failed"
	ImportCancelled = "cancelled"
	ImportDeleted   = "deleted" // its file is being removed; not shown
)

// Reasons why an ImportJob has failed or was cancelled.
const (
	ImportNobody  = "no_line_imported" // each line is faulty
	ImportExpired = "expired"          // it was never run
	ImportErased  = "person_erased"    // the file held the address of a person who was erased
)

// MaxOpenImports is how many imports of a tenant may be uploaded and not ended.
const MaxOpenImports = 5

// DefaultImportBytes is the size, in bytes, that an uploaded file may have.
const DefaultImportBytes = 256 << 20

// ImportJob is a file of subscribers that was uploaded, and its import into a list.
type ImportJob struct {
	ID       string `db:"id" json:"id"`
	TenantID string `db:"tenant_id" json:"tenant_id"`
	ListID   string `db:"list_id" json:"list_id"`
	Name     string `db:"name" json:"name"`
	Bytes    int64  `db:"bytes" json:"bytes"`
	Status   string `db:"status" json:"status" enum:"uploading|uploaded|waiting|running|checked|completed|failed|cancelled"`
	DryRun   bool   `db:"dry_run" json:"dry_run"` // of the run that waits, runs or was the last
	// of new subscribers: active (they have agreed), or pending (each is mailed a link)
	SubscriberStatus string        `db:"subscriber_status" json:"subscriber_status" enum:"active|pending"`
	Source           string        `db:"source" json:"source"` // for the record of consents
	Mapping          ColumnMapping `db:"mapping" json:"mapping"`
	// subscribers who are on the list keep their fields: who ran it may not change them, or has asked for it
	KeepFields bool `db:"keep_fields" json:"keep_fields"`
	KnownOnly  bool `db:"known_only" json:"known_only"` // columns of which nothing is known are left out
	// every row is an address that must not be emailed: no one is added to the list
	Suppress bool  `db:"suppress" json:"suppress"`
	Lines    int64 `db:"lines" json:"lines"` // of the file; 0: they were not all read yet
	ImportCounts
	// domains of addresses that are likely typing errors; the addresses are imported as they are
	Typos DomainTypos `db:"typos" json:"typos"`
	ImportUndo
	CreatedBy     string  `db:"created_by" json:"created_by"`
	CreatedAt     Instant `db:"created_at" json:"created_at"`
	StartedAt     Instant `db:"started_at" json:"started_at,omitzero"`
	FinishedAt    Instant `db:"finished_at" json:"finished_at,omitzero"`
	FailureReason string  `db:"failure_reason" json:"failure_reason,omitempty"`

	Announced int64  `db:"announced" json:"-"` // changes that were announced one by one
	DoneID    string `db:"done_id" json:"-"`   // of the row that the run has come to, in the order of ids
	DoneRows  int64  `db:"done_rows" json:"-"` // rows of this id

	ReplacedBytes int64 `db:"replaced_bytes" json:"-"` // of what is kept to take the import back

	MayEnd      bool `db:"may_end" json:"-"`
	MaySuppress bool `db:"may_suppress" json:"-"`
}

// ImportTooLarge is the error for a file of more bytes than limit.
func ImportTooLarge(limit int64) *Error {
	return tooLargef("The file is too large: %s at most.", ByteSize(limit))
}

// Ended reports whether nothing more becomes of the import.
func (j *ImportJob) Ended() bool {
	return slices.Contains([]string{ImportCompleted, ImportFailed, ImportCancelled}, j.Status)
}

// ImportCounts says what an import has done so far.
type ImportCounts struct {
	Added     int64 `db:"added" json:"added"`
	Updated   int64 `db:"updated" json:"updated"`
	Unchanged int64 `db:"unchanged" json:"unchanged"`
	// have left, are switched off or erased: no file brings them back
	Kept         int64 `db:"kept" json:"kept"`
	Contradicted int64 `db:"contradicted" json:"contradicted"` // left out: another row says that they have left
	Pending      int64 `db:"pending" json:"pending"`           // never joined or confirmed where the file comes from: left out
	Failed       int64 `db:"failed" json:"failed"`             // lines with an error
	NoAddress    int64 `db:"no_address" json:"no_address"`     // contacts without an e-mail address: left out
	Unsubscribed int64 `db:"unsubscribed" json:"unsubscribed"` // imported as unsubscribed
	// added to the tenant's suppression list, by why
	Bounced      int64 `db:"bounced" json:"bounced"`
	Complained   int64 `db:"complained" json:"complained"`
	Suppressed   int64 `db:"suppressed" json:"suppressed"`
	NotPermitted int64 `db:"not_permitted" json:"not_permitted"` // unsubscribed or suppressed in the file, left out: it takes more rights
	Evidence     int64 `db:"evidence" json:"evidence"`           // rows whose evidence of another system was kept
	// rows with evidence that is neither a time nor an address
	EvidenceUnreadable int64 `db:"evidence_unreadable" json:"evidence_unreadable"`
	// rows with evidence of a time that is still to come
	EvidenceFuture int64  `db:"evidence_future" json:"evidence_future"`
	SyncID         string `db:"sync_id" json:"sync_id,omitempty"` // of the full sync that announces the import
}

// Rows is how many lines were dealt with.
func (c ImportCounts) Rows() int64 {
	return c.Added + c.Updated + c.Unchanged + c.Kept + c.Contradicted + c.Pending + c.Failed + c.Unsubscribed +
		c.Bounced + c.Complained + c.Suppressed + c.NotPermitted + c.NoAddress
}

// ColumnMapping maps columns of a file to preferences, to "email" or to "status", which says who takes part; a column
// with an empty name is dropped. What is not in it is told by its name.
type ColumnMapping map[string]string

// Column is how it is stored.
func (m ColumnMapping) Column() string { return jsonColumn(m, len(m) == 0, "{}") }

// Scan implements sql.Scanner.
func (m *ColumnMapping) Scan(src any) error { return scanJSON(src, m) }

// MarshalJSON implements json.Marshaler: no mapping is an empty object.
func (m ColumnMapping) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]string(m))
}

// UnmarshalJSON implements json.Unmarshaler: of an object of texts.
func (m *ColumnMapping) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, (*map[string]string)(m)); err != nil {
		return Invalidf("", "must be an object of strings.")
	}
	return nil
}

// ImportInput says how an uploaded file is imported.
type ImportInput struct {
	DryRun           bool          `json:"dry_run"` // change nothing: say what would become of the lines
	Mapping          ColumnMapping `json:"mapping"`
	SubscriberStatus string        `json:"subscriber_status" enum:"active|pending"`
	Source           string        `json:"source" like:"line" max:"255"`
	// leave the fields of those who are on the list; so it is without the right people.change
	KeepFields bool `json:"keep_fields"`
	// leave out columns that are neither in mapping, nor a field of the list, nor known by their name
	KnownOnly bool `json:"known_only"`
	// add every address to the tenant's suppression list and no one to the list; needs suppression.manage
	Suppress *bool `json:"suppress,omitempty"`

	MayEnd      bool `json:"-"` // the caller may end subscriptions
	MaySuppress bool `json:"-"` // and suppress addresses
}
