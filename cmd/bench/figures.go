package main

import (
	"errors"
	"fmt"

	"rejoin/plots"
	"rejoin/plots/report"
	"rejoin/results"
)

// drawFigures draws a run's figures and writes its page from its folder, as `bench report` does again later. What is missing leaves its part
// empty; the error names it, and everything else has been written all the same.
func drawFigures(folder results.Folder) error {
	figures, readErr := plots.FromRun(folder)
	figuresErr := errors.Join(readErr, plots.Draw(folder.Plots(), figures))
	if figuresErr != nil {
		figuresErr = fmt.Errorf("figures: %w", figuresErr)
	}
	return errors.Join(figuresErr, report.Write(folder, figures))
}
