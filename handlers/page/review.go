package page

import "newsletterd/core"

// Reviewed is a campaign on the page for approving it. It holds everything that was compiled and counted for the page,
// so that each is done only once.
type Reviewed struct {
	Campaign *core.Campaign
	Tenant   core.Tenant
	Fields   core.CampaignFields

	Findings []core.CampaignFinding // errors and warnings; none if the campaign is already approved or sent
	Coverage []core.FieldCoverage   // fields of the campaign's subscribers

	Readers   core.Audience // recipients; the number may be rounded for the visitor
	Coarse    bool          // whether that number is rounded
	Uncounted error         // error from counting them, or nil
}
