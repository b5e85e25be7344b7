// Package devices keeps devices and agents, models with their files, and whom models are shared with.
//
//	store.go                New, Start
//	devices.go agents.go    devices and agents
//	models.go shares.go     models
//	uploads.go              the file of a model on its way in
package devices
