// Package terminal words errors and suggestions for a person at a terminal.
package terminal
