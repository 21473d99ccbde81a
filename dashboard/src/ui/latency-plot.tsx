import 'uplot/dist/uPlot.min.css'
import { Box, useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import Plot from 'uplot'

/** Seconds since 1970 and milliseconds, oldest first; null where nothing was measured. */
export interface Points {
  times: number[]
  latencies: Array<number | null>
}

const HEIGHT = 220

function optionsOf(width: number, scheme: 'light' | 'dark'): Plot.Options {
  const [text, grid, line] = scheme === 'dark' ? ['#adb5bd', '#343a40', '#51a9bd'] : ['#495057', '#e9ecef', '#0b7285']
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } }
  return {
    width,
    height: HEIGHT,
    legend: { show: true, live: true },
    cursor: { drag: { x: true, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [axis, { ...axis, size: 64, values: (_plot, splits) => splits.map((value) => `${value} ms`) }],
    series: [
      {},
      { label: 'Latency in ms', stroke: line, width: 1.5, fill: `${line}22`, spanGaps: false, points: { show: false } }
    ]
  }
}

/** Latency over time; drag to look closer, double-click to see all again. */
export function LatencyPlot({ points, label }: { points: Points; label: string }) {
  const { ref: sizeRef, width } = useElementSize()
  const host = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    if (host.current === null || width === 0) return
    const plot = new Plot(optionsOf(width, scheme), [points.times, points.latencies], host.current)
    return () => plot.destroy()
  }, [points, width, scheme])
  return (
    <Box ref={sizeRef} mih={HEIGHT}>
      <div ref={host} role="img" aria-label={label} />
    </Box>
  )
}
