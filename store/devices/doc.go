// Package devices stores devices and agents, and models with their files and shares.
//
//	store.go                New, Start
//	devices.go agents.go    devices and agents
//	models.go shares.go     models and their shares
//	uploads.go              uploads of model files
package devices
