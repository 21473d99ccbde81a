import './heartbeat-bar.css'
import { Tooltip } from '@mantine/core'
import { type KeyboardEvent, type PointerEvent, useCallback, useState } from 'react'
import { inWords, type Slice, sliceInWords } from './slices.ts'
import { type Draw, type Scheme, useCanvas } from './use-canvas.ts'

const COLORS: Record<Scheme, Record<'up' | 'down' | 'degraded' | 'none', string>> = {
  light: { up: '#12b886', down: '#e03131', degraded: '#f08c00', none: '#ced4da' },
  dark: { up: '#20c997', down: '#ff6b6b', degraded: '#ffd43b', none: '#495057' }
}

function drawSlices(slices: readonly Slice[]): Draw {
  return (context, width, height, scheme) => {
    const step = width / slices.length
    const gap = step > 5 ? 2 : 1
    slices.forEach(({ status }, i) => {
      const inset = status === null ? height * 0.3 : 0
      context.fillStyle = COLORS[scheme][status ?? 'none']
      context.beginPath()
      context.roundRect(i * step, inset, Math.max(1, step - gap), height - 2 * inset, Math.min(2, step / 3))
      context.fill()
    })
  }
}

/** How far a key goes along the bar; Home and End go beyond any. */
const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY
}

interface Options {
  slices: readonly Slice[]
  /** Of what time, such as "Last five hours". */
  label: string
  /** What the slices are parts of, epoch ms. */
  from: number
  to: number
  height?: number
}

/**
 * One bar a slice of time, oldest first; a canvas, because a thousand monitors have sixty thousand of them. Each slice is
 * told to who points at it, and to the keyboard and to screen readers as the values of a slider, the newest first.
 */
export function HeartbeatBar({ slices, label, from, to, height = 28 }: Options) {
  const canvas = useCanvas(useCallback<Draw>((...where) => drawSlices(slices)(...where), [slices]))
  const [chosen, setChosen] = useState<number | null>(null)
  const last = slices.length - 1
  const place = Math.min(chosen ?? last, last)
  const words = sliceInWords(slices, place, from, to)
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key]
    if (step === undefined) return
    event.preventDefault()
    setChosen(Math.max(0, Math.min(last, place + step)))
  }
  const onPointerMove = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    setChosen(Math.max(0, Math.min(last, Math.floor(((clientX - left) / width) * slices.length))))
  }
  return (
    <div
      className="heartbeat-bar"
      role="slider"
      tabIndex={0}
      aria-readonly
      aria-label={`${label}: ${inWords(slices)} parts`}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={place}
      aria-valuetext={words}
      style={{ height }}
      onKeyDown={onKeyDown}
      onFocus={() => setChosen(place)}
      onBlur={() => setChosen(null)}
      onPointerMove={onPointerMove}
      onPointerLeave={() => setChosen(null)}
    >
      <canvas ref={canvas} aria-hidden />
      {chosen === null ? null : (
        <Tooltip opened label={words} events={{ hover: false, focus: false, touch: false }}>
          <span style={{ left: `${(place / slices.length) * 100}%`, width: `${100 / slices.length}%` }} />
        </Tooltip>
      )}
    </div>
  )
}
