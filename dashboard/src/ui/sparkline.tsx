import { useCallback } from 'react'
import { type Draw, useCanvas } from './use-canvas.ts'

function drawLine(values: ReadonlyArray<number | null>): Draw {
  return (context, width, height, scheme) => {
    const most = Math.max(1, ...values.map((value) => value ?? 0))
    const x = (i: number) => 1 + (i * (width - 2)) / Math.max(1, values.length - 1)
    const y = (value: number) => height - 2 - (value / most) * (height - 4)
    context.strokeStyle = scheme === 'dark' ? '#51a9bd' : '#0b7285'
    context.fillStyle = context.strokeStyle
    context.lineWidth = 1.5
    context.beginPath()
    values.forEach((value, i) => {
      if (value === null) return
      const before = values[i - 1] ?? null
      if (before !== null) context.lineTo(x(i), y(value))
      // One alone between gaps is a dot, or nobody would see it.
      else if ((values[i + 1] ?? null) === null) context.fillRect(x(i) - 1, y(value) - 1, 2, 2)
      else context.moveTo(x(i), y(value))
    })
    context.stroke()
  }
}

/** How latency went, without numbers; oldest first, null where nothing was measured. */
export function Sparkline({ values, label }: { values: ReadonlyArray<number | null>; label: string }) {
  const ref = useCanvas(useCallback<Draw>((...where) => drawLine(values)(...where), [values]))
  return <canvas ref={ref} role="img" aria-label={label} style={{ width: '100%', height: 28, display: 'block' }} />
}
