package page

import "newsletterd/core"

// Reviewed holds a campaign with the results that its review page needs, so that nothing is compiled or counted twice.
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
