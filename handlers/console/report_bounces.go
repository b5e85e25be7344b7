package console

import "newsletterd/core"

// bounceClasses returns the count and the name of each bounce class.
func (p *Page) bounceClasses(c *core.BounceCounts) []countedRow {
	return []countedRow{
		{p.T("Mailbox doesn't exist"), c.Gone},
		{p.T("Mailbox full"), c.Full},
		{p.T("Blocked as spam or by policy"), c.Blocked},
		{p.T("Temporary problem"), c.Later},
		{p.T("Other"), c.Refused},
	}
}

// BouncesAdd reports whether the bounce table shows more than the reasons for failed deliveries: several domains, or
// emails that bounced after they were accepted.
func (d *reportData) BouncesAdd() bool {
	return len(d.Bounces.Domains) > 1 || d.Bounces.CameBack > 0 || d.Bounces.Recipients > 0 && len(d.Failures) == 0
}

// BounceHeads returns the bounce classes that have bounces.
func (p *Page) BounceHeads(c core.BounceCounts) (rows []countedRow) {
	for _, r := range p.bounceClasses(&c) {
		if r.N > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

// BounceCells returns a domain's counts for the classes that BounceHeads returns for sum.
func (p *Page) BounceCells(sum, of core.BounceCounts) (cells []countedRow) {
	all := p.bounceClasses(&of)
	for i, r := range p.bounceClasses(&sum) {
		if r.N > 0 {
			cells = append(cells, all[i])
		}
	}
	return cells
}
