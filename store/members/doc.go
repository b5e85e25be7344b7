// Package members is the member side: who subscribed to what, and by what proof. What it changes goes to the send side
// as events and full syncs.
//
//	store.go                                 New
//	subscribe.go subscriptions.go            requests and subscriptions
//	confirmations.go confirmed.go            confirmations
//	consents.go trackingconsent.go           what people agreed to
//	unsubscribe.go disabled.go leftbyfile.go manage.go   leaving
//	sync.go                                  full syncs
package members
