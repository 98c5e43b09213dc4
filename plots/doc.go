// Package plots draws the five figures of a run, each as SVG and PNG: latency, percentiles, throughput, lag, recovery.
//
// Figures come from neutral data (type Figures), which FromRun fills from a run folder. What was not measured is a gap or a "no data" panel,
// never a zero; zeros on a log axis are shown below the scale; nothing is smoothed. A figure that fails never keeps the others from being drawn.
//
// Series differ by dash or marker besides their colour (Okabe-Ito palette); a node has the same look in every figure. Kills are marked by lines.
// Stretches without acknowledgements, repairs and transfers are shaded and also have a solid bar in a lane of their own at the panel's foot. How
// long each node was down or stopped is shown by bars above the panel, not by shades: acknowledgements may go on all the while.
//
// Nothing global is changed (gonum's default font is left alone), so that figures may be drawn concurrently, and equal data give equal bytes.
package plots
