package main

import (
	"errors"
	"fmt"

	"rejoin/plots"
	"rejoin/results"
)

// drawFigures draws a run's figures from its folder, as `bench report` does again later. What is missing leaves its figure empty.
func drawFigures(folder results.Folder) error {
	figures, readErr := plots.FromRun(folder)
	if err := errors.Join(readErr, plots.Draw(folder.Plots(), figures)); err != nil {
		return fmt.Errorf("figures: %w", err)
	}
	return nil
}
