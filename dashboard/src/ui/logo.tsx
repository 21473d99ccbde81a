import { Group, Text } from '@mantine/core'

export function Logo({ size = 28 }: { size?: number }) {
  return (
    <Group gap={8} wrap="nowrap">
      <img src="/favicon.svg" alt="" width={size} height={size} />
      <Text fw={650} size="lg">
        Pulsegate
      </Text>
    </Group>
  )
}
