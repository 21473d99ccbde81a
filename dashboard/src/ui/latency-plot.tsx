import 'uplot/dist/uPlot.min.css'
import './latency-plot.css'
import { Box, useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import Plot from 'uplot'
import { latencyOf } from './format.ts'

export interface Points {
  /** The whole window, epoch ms: what was not measured in it is left grey. */
  from: number
  to: number
  /** Seconds since 1970, oldest first. */
  times: number[]
  lines: Array<{ label: string; values: Array<number | null> }>
  /** More seconds than this without a point are a gap. */
  gapSeconds: number
}

const HEIGHT = 240
const COLORS = {
  light: { text: '#495057', grid: '#e9ecef', gap: '#f1f3f5', lines: ['#0b7285', '#c2255c', '#5f3dc4'] },
  dark: { text: '#c1c2c5', grid: '#373a40', gap: '#2c2e33', lines: ['#51a9bd', '#faa2c1', '#b197fc'] }
} as const

/** Where nothing was measured, as pairs of seconds. */
function gapsOf({ from, to, times, lines, gapSeconds }: Points): Array<[number, number]> {
  const gaps: Array<[number, number]> = []
  let last = from / 1000
  times.forEach((time, i) => {
    if (lines.every(({ values }) => (values[i] ?? null) === null)) return
    if (time - last > gapSeconds) gaps.push([last, time])
    last = time
  })
  if (to / 1000 - last > gapSeconds) gaps.push([last, to / 1000])
  return gaps
}

function paintGaps(plot: Plot, gaps: ReadonlyArray<[number, number]>, color: string): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  ctx.fillStyle = color
  for (const [from, to] of gaps) {
    const left = plot.valToPos(from, 'x', true)
    ctx.fillRect(left, bbox.top, plot.valToPos(to, 'x', true) - left, bbox.height)
  }
  ctx.restore()
}

function optionsOf(width: number, scheme: 'light' | 'dark', shown: { points: Points }, labels: string[]): Plot.Options {
  const { text, grid, gap, lines } = COLORS[scheme]
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } }
  return {
    width,
    height: HEIGHT,
    cursor: { drag: { x: true, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, (max ?? 0) * 1.1)] } },
    axes: [axis, { ...axis, size: 68, values: (_plot, splits) => splits.map((value) => `${value} ms`) }],
    series: [
      {},
      ...labels.map((label, i) => ({
        label,
        stroke: lines[i] ?? text,
        width: 1.5,
        spanGaps: false,
        points: { show: shown.points.times.length < 60 },
        value: (_plot: Plot, value: number | null) => latencyOf(value)
      }))
    ],
    hooks: {
      drawClear: [(plot) => paintGaps(plot, gapsOf(shown.points), gap)],
      // For the bench, and for whoever looks at the page in DevTools.
      draw: [() => void performance.mark('latency-plot')]
    }
  }
}

function dataOf({ times, lines }: Points): Plot.AlignedData {
  return [times, ...lines.map(({ values }) => values)]
}

/** Latency over time; drag to look closer, double-click to see all again. New points do not end a closer look. */
export function LatencyPlot({ points, label }: { points: Points; label: string }) {
  const { ref: sizeRef, width } = useElementSize()
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot>(null)
  const shown = useRef({ points })
  const closer = useRef(false)
  const scheme = useComputedColorScheme('light')
  const labels = points.lines.map((line) => line.label).join('\n')
  const wide = width > 0

  // biome-ignore lint/correctness/useExhaustiveDependencies: width and points are followed below, by the same plot.
  useEffect(() => {
    if (host.current === null || !wide) return
    const made = new Plot(optionsOf(width, scheme, shown.current, labels.split('\n')), undefined, host.current)
    const whole = () => {
      const { from, to } = shown.current.points
      closer.current = false
      made.setScale('x', { min: from / 1000, max: to / 1000 })
    }
    made.over.addEventListener('dblclick', whole)
    made.over.addEventListener('mouseup', () => {
      if (made.select.width > 0) closer.current = true
    })
    plot.current = made
    return () => {
      plot.current = null
      made.destroy()
    }
  }, [wide, scheme, labels])

  useEffect(() => {
    if (wide) plot.current?.setSize({ width, height: HEIGHT })
  }, [wide, width])

  // biome-ignore lint/correctness/useExhaustiveDependencies: a plot that was made anew has to be filled as well.
  useEffect(() => {
    const before = shown.current.points
    shown.current.points = points
    if (plot.current === null) return
    // Another length of window is another question.
    if (Math.abs(before.to - before.from - (points.to - points.from)) > 1000) closer.current = false
    plot.current.setData(dataOf(points), false)
    if (closer.current) plot.current.redraw()
    else plot.current.setScale('x', { min: points.from / 1000, max: points.to / 1000 })
  }, [points, wide, scheme, labels])

  return (
    <Box ref={sizeRef} mih={HEIGHT + 32} className="latency-plot">
      <div ref={host} role="img" aria-label={label} />
    </Box>
  )
}
