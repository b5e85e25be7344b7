// Package drafts checks campaigns and send jobs before they are sent. It finds errors and warnings, renders previews
// and chooses recipients for them. Both the API and the commands use it.
//
//	drafts.go            Drafts: compiles a version and chooses a recipient to render it for
//	check.go             Look, Check, Ready: the findings about a version of a campaign
//	fields.go            coverage of the fields that subscribers have
//	links.go sender.go   Checks: whether links respond, and the sender's DNS records
//	article.go           ArticleOf: what archives show of a campaign; post.go: posts from other tools
//	videos.go            Videos: thumbnails of videos
//	themes.go            tenants' themes: a new one, and a sample newsletter
//	polls.go             PollResults: polls in drafts and in sent campaigns
//	trial.go             Preview; Trial: previewing and testing a send job; testing a template
package drafts
