"""Operations and serializers of issue events, timelines and fields."""
