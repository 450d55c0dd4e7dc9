//go:build !linux && !darwin

package terminal

func dropInput(int) error { return nil }
