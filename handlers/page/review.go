package page

import "newsletterd/core"

// Reviewed is a campaign on the page for approving it. It holds everything that was compiled and counted for the page,
// so that this is done only once.
type Reviewed struct {
	Campaign *core.Campaign
	Tenant   core.Tenant
	Fields   core.CampaignFields

	Findings []core.CampaignFinding // errors and warnings; none if the campaign is already approved or sent
	Coverage []core.FieldCoverage   // fields of the campaign's subscribers

	Readers   core.Audience // people to whom it goes, as the visitor may see their number
	Coarse    bool          // whether that number is rounded
	Uncounted error         // why they can't be counted; nil: they are
}
