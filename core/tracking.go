package core

// Link is an address that a job's mails lead to by way of ours.
type Link struct {
	No             int64  `db:"no" json:"no"`
	URL            string `db:"url" json:"url"`
	Clicked        int64  `db:"clicked" json:"clicked"`                 // recipients who have followed it
	MachineClicked int64  `db:"machine_clicked" json:"machine_clicked"` // of them: machines alone
}

// Engagement is that a person, or some program, has opened a mail or followed a link of it, perhaps several times.
type Engagement struct {
	JobNo, Seq, LinkNo int64   // LinkNo 0: opened
	At                 Instant // for the first time, of these
	Last               Instant
	Times, Machine     int64 // Machine: how many of Times a program has said that it is one
}

// PersonOpening is a mail that was opened, or a link of it that was followed.
type PersonOpening struct {
	URL     string  `db:"url" json:"url"` // empty: the mail itself
	FirstAt Instant `db:"first_at" json:"first_at"`
	LastAt  Instant `db:"last_at" json:"last_at"`
	Times   int64   `db:"times" json:"times"`
	Machine int64   `db:"machine" json:"by_machines"` // of these
}
