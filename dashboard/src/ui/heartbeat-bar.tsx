import { useCallback } from 'react'
import { type Draw, type Scheme, useCanvas } from './use-canvas.ts'

/** The worst that happened in one slice of time; null: nobody knows. */
export type Slice = 'up' | 'down' | 'degraded' | 'unknown' | null

const COLORS: Record<Scheme, Record<'up' | 'down' | 'degraded' | 'none', string>> = {
  light: { up: '#12b886', down: '#e03131', degraded: '#f08c00', none: '#ced4da' },
  dark: { up: '#20c997', down: '#ff6b6b', degraded: '#ffd43b', none: '#495057' }
}

function drawSlices(slices: readonly Slice[]): Draw {
  return (context, width, height, scheme) => {
    const step = width / slices.length
    const gap = step > 5 ? 2 : 1
    slices.forEach((slice, i) => {
      const silent = slice === null || slice === 'unknown'
      const inset = silent ? height * 0.3 : 0
      context.fillStyle = COLORS[scheme][silent ? 'none' : slice]
      context.beginPath()
      context.roundRect(i * step, inset, Math.max(1, step - gap), height - 2 * inset, Math.min(2, step / 3))
      context.fill()
    })
  }
}

/** One bar a slice of time, oldest first; a canvas, because a thousand monitors have sixty thousand of them. */
export function HeartbeatBar({
  slices,
  label,
  height = 28
}: {
  slices: readonly Slice[]
  /** All that it shows, in words. */
  label: string
  height?: number
}) {
  const ref = useCanvas(useCallback<Draw>((...where) => drawSlices(slices)(...where), [slices]))
  return <canvas ref={ref} role="img" aria-label={label} style={{ width: '100%', height, display: 'block' }} />
}
