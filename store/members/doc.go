// Package members is the member side: subscriptions and the proof of consent to them. Changes go to the send side as
// events and full syncs.
//
//	store.go                                 New
//	subscribe.go subscriptions.go            requests and subscriptions
//	confirmations.go confirmed.go            confirmations
//	consents.go trackingconsent.go           the consent ledger
//	unsubscribe.go disabled.go leftbyfile.go manage.go   unsubscribing
//	sync.go                                  full syncs
package members
